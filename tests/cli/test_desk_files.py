"""`rolltop export` and `rolltop import`: all of a user's desk as files, and back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
from itertools import count
from typing import TYPE_CHECKING, Any, Final, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.cli import desk_files
from rolltop.cli.plain_files import FreeNames, file_stem
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.accounts import add_user, delete_user
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import Principal
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.desk.models import Relation
from rolltop.toolsets.tasks.import_export import parse_task
from tests.campaign import examples
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from tests.cli.conftest import Shell

_ALPHABET: Final = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
_numbers = count(1)
TEXTS = st.text(_ALPHABET, max_size=30) | st.sampled_from(["---\nid: 1\n---\n", "a\r\nb\u2028c\n"])
NAMES = st.text(_ALPHABET, min_size=1, max_size=9).filter(str.strip)
TITLES = NAMES | st.sampled_from(["Con", "trash", "../x", "same", "Same"])
TRUE: Final = st.just(True)  # noqa: FBT003  # a strategy's only value
WORDS = st.sampled_from(["red", "blue", "zwölf 12"])
PICKS = st.integers(0, 99)
VALUES = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
FIELDS = st.dictionaries(WORDS, VALUES | st.lists(VALUES, max_size=2), max_size=2)
CELLS = st.fixed_dictionaries(
    {"language": st.sampled_from(["python", "json", "sql", "no/name"]), "content": TEXTS},
    optional={"tags": st.lists(WORDS, max_size=2), "metadata": FIELDS, "validate": TRUE},
)
STEPS = st.one_of(
    st.tuples(
        st.just("task"),
        st.fixed_dictionaries(
            {"title": TITLES},
            optional={
                "description": TEXTS,
                "tags": st.lists(WORDS, max_size=2),
                "priority": st.integers(0, 4),
                "due_at": st.just("2026-03-01T17:00:00.5+01:00"),
                "links": st.just(["https://example.org/a", "rolltop://note/x"]),
                "project": WORDS,
                "acceptance": st.lists(TITLES, max_size=2),
                "evidence": st.just(["https://example.org/a", "https://example.org/b"]),
                "requires_evidence": TRUE,
                "reopen_on_change": st.booleans(),
            },
        ),
        PICKS,
    ),
    st.tuples(st.just("comment"), NAMES, PICKS),
    st.tuples(
        st.sampled_from(["complete_task", "delete_task", "claim_task", "scratch_delete"]), PICKS
    ),
    st.tuples(st.just("prove"), PICKS, PICKS),
    st.tuples(st.just("link"), st.sampled_from(get_args(Relation)), PICKS, PICKS),
    st.tuples(st.just("edit"), TEXTS, PICKS),
    st.tuples(st.sampled_from(["trash", "delete_permanently", "restore"]), PICKS),
    st.tuples(
        st.just("pad"),
        st.fixed_dictionaries(
            {
                "metadata": FIELDS.flatmap(
                    lambda fields: TITLES.map(lambda t: {**fields, "title": t})
                )
            },
            optional={
                "tags": st.lists(WORDS, max_size=2),
                "namespace": WORDS,
                "cells": st.lists(CELLS, max_size=3),
            },
        ),
    ),
    st.tuples(st.just("schema"), WORDS, PICKS),
    st.tuples(st.just("move"), PICKS),
    st.tuples(st.just("namespace"), WORDS),
    st.tuples(
        st.just("note"),
        st.fixed_dictionaries(
            {"text": TEXTS}, optional={"tags": st.lists(WORDS, max_size=2), "trash": TRUE}
        ),
    ),
)


def one_of(ids: list[str], pick: int) -> str:
    return ids[pick % len(ids)]


class Owner:
    """One user who fills a desk by the tools, and keeps the ids of what is there."""

    def __init__(self, app: AppContext) -> None:
        self.app = app
        email = f"user{next(_numbers)}@example.org"
        self.principal = Principal.for_user(
            app.database.write_sync(SYSTEM, add_user, email).id, actor="tester"
        )
        self.tasks: list[str] = []
        self.pads: list[str] = []
        self.notes: list[str] = []
        self.called: set[str] = set()

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.called.add(tool)
        return call_tool(self.app, self.principal, tool, **arguments).structured

    def owned_by(self, other: Owner) -> Owner:
        """Take over the ids of another's things, which are imported."""
        self.tasks, self.pads, self.notes = other.tasks, other.pads, other.notes
        return self

    @property
    def addresses(self) -> list[str]:
        """The addresses of all things but cells."""
        ids = {"task": self.tasks, "pad": self.pads, "note": self.notes}
        return [f"rolltop://{kind}/{one}" for kind, of_kind in ids.items() for one in of_kind]

    def manage(self, action: str, note: str, **more: Any) -> dict[str, Any]:
        """Manage a note as it is now, or as it was last."""
        now = self.call("note_get", id=note).get("local_version")
        if action == "restore":
            past = self.call("note_manage", action="history", id=note).get("versions") or [{}]
            more = {"version": past[0].get("local_version"), **more}
        return self.call("note_manage", action=action, id=note, local_version=now, **more)

    def take(self, step: tuple[Any, ...]) -> None:
        """Take one drawn step; one that the tools refuse changes nothing."""
        match step:
            case ("task", fields, pick):
                hangs_on = self.tasks[pick % len(self.tasks) :][:1] if self.tasks else []
                name = "parent_id" if pick % 2 else "blocked_by"
                more = {name: hangs_on[0] if pick % 2 else hangs_on} if hangs_on else {}
                answer = self.call("add_task", **fields, **more)
                self.tasks += [answer["data"]["task_id"]] if answer["success"] else []
            case ("comment", text, pick) if self.tasks:
                self.call("update_task", task_id=one_of(self.tasks, pick), comment=text)
            case ("complete_task" | "delete_task" | "claim_task", pick) if self.tasks:
                self.call(step[0], task_id=one_of(self.tasks, pick))
            case ("scratch_delete", pick) if self.pads:
                self.call("scratch_delete", scratch_id=one_of(self.pads, pick))
            case ("pad", fields):
                answer = self.call("scratch_create", **fields)
                self.pads += [answer["scratchpad"]["scratch_id"]] if answer["ok"] else []
            case ("schema", name, pick) if self.pads:
                schema = {"name": name, "schema": {"type": "object"}}
                pad = one_of(self.pads, pick)
                self.call("scratch_schema", action="upsert", scratch_id=pad, schema=schema)
                cell = {"language": "json", "content": "[]", "validate": True, "json_schema": name}
                self.call("scratch_append_cell", scratch_id=pad, cell=cell)
            case ("move", pick) if self.pads:
                cell = {"language": "md", "content": "# moved"}
                pad = one_of(self.pads, pick)
                place = {"index": 0, "new_index": pick % 3}
                self.call("scratch_replace_cell", scratch_id=pad, cell=cell, **place)
            case ("namespace", name):
                self.call("scratch_namespace", action="create", namespace=name)
            case _:
                self.take_of_notes(step)

    def take_of_notes(self, step: tuple[Any, ...]) -> None:
        """Take a step that is about notes or links."""
        match step:
            case ("prove", pick, other) if self.tasks and self.notes:
                proof = {
                    "acceptance": "Kept",
                    "evidence": f"rolltop://note/{one_of(self.notes, other)}",
                }
                self.call("update_task", task_id=one_of(self.tasks, pick), **proof)
            case ("link", relation, pick, other) if self.addresses:
                ends = {"from": one_of(self.addresses, pick), "to": one_of(self.addresses, other)}
                self.call("desk_link", relation=relation, **ends)
            case ("edit", text, pick) if self.notes:
                note = one_of(self.notes, pick)
                version = self.call("note_get", id=note).get("local_version")
                self.call("note_save", id=note, local_version=version, text=text)
            case ("trash" | "delete_permanently" | "restore", pick) if self.notes:
                self.manage(step[0], one_of(self.notes, pick))
            case ("note", fields):
                answer = self.call("note_save", **fields)
                self.notes += [answer["id"]] if "id" in answer else []
            case _:
                pass

    def seen(self) -> list[Any]:
        """Return all that the tools show of the desk; not who made a version, and reads of pads."""
        pads = [self.call("scratch_read", scratch_id=pad) for pad in self.pads]
        for pad in pads:
            for name in ("last_access_at", "tenant_id"):
                pad.get("scratchpad", {}).pop(name, None)
        return [
            [self.shown_of_note(note) for note in self.notes],
            self.call("note_list", trash_s=2, limit=100),
            [self.call("get_task", task_id=task) for task in self.tasks],
            self.call("list_tasks", project="*", limit=200),
            [self.call("next_task", project=one) for one in ("*", "red")],
            pads,
            [self.call("scratch_list_cells", scratch_id=pad) for pad in self.pads],
            [self.call("scratch_schema", action="list", scratch_id=pad) for pad in self.pads],
            self.call("scratch_list", namespaces=["*"]),
            self.call("scratch_list_tags", namespaces=["*"]),
            self.call("scratch_restore"),
            self.call("scratch_namespace", action="list"),
            [self.links_of(uri) for uri in self.addresses],
        ]

    def shown_of_note(self, note: str) -> list[Any]:
        """Return a note with all of its versions."""
        past = self.call("note_manage", action="history", id=note).get("versions") or []
        for version in past:
            version.pop("source")
        numbers = [None, *(one["local_version"] for one in past)]
        return [past, *(self.call("note_get", id=note, local_version=one) for one in numbers)]

    def links_of(self, uri: str) -> Any:
        """Return the links of a thing and the titles around it."""
        shown = self.call("desk_read", uri=uri)
        return [shown.get(name) for name in ("uri", "links", "title", "error")]


def files(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder by their paths."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def export(owner: Owner, folder: Path) -> dict[str, bytes]:
    desk_files.export_desk(owner.app, owner.principal, folder, ProgressBar(None))
    return files(folder)


def bring(owner: Owner, folder: Path) -> dict[str, Any]:
    return desk_files.import_desk(owner.app, owner.principal, folder, ProgressBar(None))


@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_a_desk_that_is_imported_is_exported_byte_for_byte(
    database: Database, tmp_path: Path, steps: list[tuple[Any, ...]]
) -> None:
    number = next(_numbers)
    first = Owner(make_desk(database))
    for step in steps:
        first.take(step)
    before, seen = export(first, tmp_path / f"{number}a"), first.seen()
    database.write_sync(SYSTEM, delete_user, first.principal.user_id)

    second = Owner(make_desk(database)).owned_by(first)
    done = bring(second, tmp_path / f"{number}a")
    assert done["left_out"] == []
    assert export(second, tmp_path / f"{number}b") == before
    assert second.seen() == seen
    again = bring(second, tmp_path / f"{number}a")
    assert all(again[kind]["added"] == 0 for kind in ("notes", "tasks", "pads"))
    assert all(again[kind].get("kept", 0) == 0 for kind in ("notes", "tasks", "pads"))
    database.write_sync(SYSTEM, delete_user, second.principal.user_id)


def fill(owner: Owner) -> None:
    """Use every tool that writes, and keep the ids of what is there."""
    call = owner.call
    plan = [{"title": f"Step {n}", "tags": ["hull"], "project": "ferry"} for n in range(4)]
    plan[1] |= {"blocked_by": [0], "parent_id": 0, "due_at": "2031-05-04"}
    owner.tasks = [task["task_id"] for task in call("add_task", tasks=plan)["data"]]
    first, second, third, last = owner.tasks
    call("update_task", task_id=first, comment="Half done", links=f"rolltop://task/{second}")
    call("claim_task", task_id=first, lease_seconds=3600)
    call("complete_task", task_id=third)
    call("reopen_task", task_id=third)
    for tool in ("delete_task", "restore_task", "delete_task"):
        call(tool, task_id=last)
    cell = {"language": "json", "content": "[1,", "validate": True, "tags": ["a"]}
    for namespace in ("one", "two", "two"):
        made = call("scratch_create", namespace=namespace, cells=[cell], metadata={"title": "Log"})
        owner.pads.append(made["scratchpad"]["scratch_id"])
    pad = owner.pads[0]
    call("scratch_schema", action="upsert", scratch_id=pad, schema={"name": "n", "schema": {}})
    ids = [call("scratch_append_cell", scratch_id=pad, cell=cell)["cell_id"] for _ in range(3)]
    call("scratch_replace_cell", scratch_id=pad, cell_id=ids[0], cell=cell, new_index=0)
    call("scratch_edit_cell", scratch_id=pad, cell_id=ids[1], edits={"old": ",", "new": ""})
    call("scratch_delete_cell", scratch_id=pad, cell_id=ids[2])
    call("scratch_update", scratch_id=pad, tags=["kept"], metadata={"mood": [1, None]})
    for tool in ("scratch_delete", "scratch_restore", "scratch_delete"):
        call(tool, scratch_id=owner.pads[1])
    call("scratch_namespace", action="rename", old_namespace="one", new_namespace="uno")
    owner.notes = [call("note_save", text=f"Note {n}", tags=["log"])["id"] for n in range(4)]
    for at, note in enumerate(owner.notes):
        for line in ("more", "and more")[: at + 1]:
            owner.take(("edit", f"Note {at}\n{line}", at))
        if at > 1:
            owner.manage("trash", note)
    owner.manage("delete_permanently", owner.notes[3])
    proof = f"rolltop://cell/{ids[0]}"
    call("update_task", task_id=second, acceptance="It is kept", evidence=proof)
    for relation, target in zip(get_args(Relation), owner.addresses, strict=False):
        call("desk_link", **{"from": proof, "relation": relation, "to": target})
    call("desk_link", **{"from": proof, "relation": "relates", "to": "https://example.org/a"})
    call("update_task", task_id=first, title="Not for long")
    call("desk_undo", operation=call("desk_history")["changes"][0]["operation"])


def test_what_every_tool_wrote_is_shown_after_an_import(database: Database, tmp_path: Path) -> None:
    first = Owner(make_desk(database))
    fill(first)
    writing = {tool.name for toolset in TOOLSETS for tool in toolset.tools if not tool.is_read_only}
    assert writing <= first.called
    before, seen = export(first, tmp_path / "a"), first.seen()
    database.write_sync(SYSTEM, delete_user, first.principal.user_id)

    second = Owner(make_desk(database)).owned_by(first)
    done = bring(second, tmp_path / "a")
    assert done["left_out"] == []
    counts = {kind: done[kind]["added"] for kind in ("notes", "tasks", "pads", "links")}
    assert counts == {"notes": 3, "tasks": 4, "pads": 3, "links": 6}
    for shown, expected in zip(second.seen(), seen, strict=True):
        assert shown == expected
    assert export(second, tmp_path / "b") == before
    assert bring(second, tmp_path / "b")["links"] == {"added": 0, "unchanged": 6}


def call(shell: Shell, tool: str, **arguments: Any) -> dict[str, Any]:
    done = shell("call", tool, "--json", json.dumps(arguments))
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture
def filled(shell: Shell) -> Shell:
    plan = [{"title": "Mend", "tags": ["hull"]}, {"title": "Paint", "blocked_by": [0]}]
    call(shell, "add_task", tasks=plan)
    cell = {"language": "python", "content": "x = 1\n"}
    call(shell, "scratch_create", metadata={"title": "Tides"}, cells=[cell])
    call(shell, "note_save", text="# Harbour\n\nopen at six")
    return shell


def fresh(shell: Shell, tmp_path: Path) -> Shell:
    """Let a shell go on with an empty store."""
    shell.set("ROLLTOP_DATA_DIR", str(tmp_path / f"data{next(_numbers)}"))
    return shell


def test_an_export_is_files_that_a_person_can_read(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = filled("export", str(out))
    assert done.code == 0, done.err
    assert done.out == f"Wrote 1 note, 2 tasks, 1 pad to {out}.\n"
    written = files(out)
    named = ["desk.json", "notes/Harbour.md", "pads/Tides/01.py", "pads/Tides/pad.json"]
    assert sorted(written) == [*named, "tasks/Mend.md", "tasks/Paint.md"]
    assert written["pads/Tides/01.py"] == b"x = 1\n"
    assert b'\ntitle: "Mend"\nstatus: "pending"\n' in written["tasks/Mend.md"]
    assert {path.stat().st_mode & 0o777 for path in out.rglob("*.*")} == {0o600}
    again = filled("export", str(out))
    assert (again.code, "Name a new or an empty folder" in again.err) == (1, True)
    assert files(out) == written


def test_an_import_says_what_it_did(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = json.loads(filled("export", str(out), "--json").out)
    assert (answer["notes"], answer["tasks"], answer["pads"]) == (1, 2, 1)
    shell = fresh(filled, tmp_path)
    assert shell("import", str(out)).out == "Notes: 1 added.\nTasks: 2 added.\nPads: 1 added.\n"
    (task,) = (t for t in call(shell, "list_tasks")["data"] if t["title"] == "Mend")
    call(shell, "update_task", task_id=task["task_id"], title="Changed here")
    again = json.loads(shell("import", str(out), "--json").out)
    assert again["tasks"] == {"added": 0, "unchanged": 1, "kept": 1}
    assert again["pads"] == {"added": 0, "unchanged": 1, "kept": 0}
    assert call(shell, "get_task", task_id=task["task_id"])["data"]["title"] == "Changed here"


def test_another_users_desk_is_imported_with_ids_of_its_own(
    database: Database, tmp_path: Path
) -> None:
    first, second = (Owner(make_desk(database)) for _ in range(2))
    plan = [{"title": "a"}, {"title": "b", "blocked_by": [0]}]
    made = first.call("add_task", tasks=plan)["data"]
    export(first, tmp_path / "out")
    assert bring(second, tmp_path / "out")["tasks"]["added"] == 2
    a, b = sorted(second.call("list_tasks")["data"], key=lambda task: task["title"])
    assert b["blocked_by"] == [a["task_id"]]
    assert not {a["task_id"], b["task_id"]} & {one["task_id"] for one in made}
    assert bring(second, tmp_path / "out")["tasks"] == {"added": 0, "unchanged": 2, "kept": 0}


def test_what_a_file_says_of_a_cells_validation_is_not_believed(
    database: Database, tmp_path: Path
) -> None:
    first, second = (Owner(make_desk(database)) for _ in range(2))
    cells = [
        {"language": "json", "content": "[1,", "validate": True},
        {"language": "json", "content": "[1]"},
        {"language": "json", "content": "[2]"},
        {"language": "json", "content": "[3", "validate": True},
        {"language": "json", "content": "[4]", "validate": True},
    ]
    pad = first.call("scratch_create", cells=cells)["scratchpad"]["scratch_id"]
    export(first, tmp_path / "out")
    (written,) = (tmp_path / "out").rglob("pad.json")
    whole = json.loads(written.read_text())
    told = whole["cells"][0]["validation"]
    assert not told["valid"]
    shas = [hashlib.sha256(cell["content"].encode()).hexdigest() for cell in cells]
    for at, found in enumerate(
        (
            {"valid": True, "errors": 0, "sha256": shas[0]},
            {"valid": False, "errors": 7, "sha256": shas[1], "validator": "another"},
            {"valid": False, "errors": 7, "sha256": shas[0]},
        )
    ):
        whole["cells"][at]["validation"] = {**told, **found}
    del whole["cells"][3]["validation"]
    written.write_text(json.dumps(whole))
    database.write_sync(SYSTEM, delete_user, first.principal.user_id)

    assert bring(second, tmp_path / "out")["pads"]["added"] == 1
    shown = second.call("scratch_read", scratch_id=pad)["scratchpad"]["cells"]
    found = [cell.get("validation") for cell in shown]
    fresh = {"warnings": 0, "stale": False}
    assert found == [
        {"valid": False, "errors": 1, **fresh},
        {"valid": True, "errors": 0, **fresh},
        {"valid": False, "errors": 7, "warnings": 0, "stale": True},
        {"valid": False, "errors": 1, **fresh},
        {"valid": True, "errors": 0, **fresh},
    ]
    assert bring(second, tmp_path / "out")["pads"] == {"added": 0, "unchanged": 1, "kept": 0}


def test_what_is_no_finished_export_is_refused(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    (out / "desk.json").unlink()
    shell = fresh(filled, tmp_path)
    done = shell("import", str(out))
    assert done.code == 1
    assert "no finished export" in done.err
    assert call(shell, "list_tasks")["data"] == []


def test_no_file_stays_of_an_export_that_fails(
    filled: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    opened = os.open

    def full(path: Any, *rest: Any, **named: Any) -> int:
        if str(path).endswith("pad.json"):
            raise OSError(28, "No space left on device")
        return opened(path, *rest, **named)

    monkeypatch.setattr(os, "open", full)
    done = filled("export", str(out))
    assert done.code == 1
    assert "No space left on device" in done.err
    assert files(out) == {}
    monkeypatch.undo()


def test_files_that_are_missing_are_told(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    (out / "tasks" / "Mend.md").unlink()
    done = fresh(filled, tmp_path)("import", str(out))
    assert done.code == 1
    assert "desk.json counts 2 tasks, and the folder has 1" in done.out
    assert "refers to" in done.out


def test_nothing_outside_the_folder_is_read(filled: Shell, tmp_path: Path) -> None:
    out, secret = tmp_path / "out", tmp_path / "secret.md"
    filled("export", str(out))
    secret.write_text("secret")
    pad = out / "pads" / "Tides" / "pad.json"
    whole = json.loads(pad.read_text())
    for number, name in enumerate(("../../../secret.md", str(secret), "..", "a\\b", "")):
        whole["scratch_id"] = str(uuid.UUID(int=number))
        whole["cells"][0]["file"] = name
        (out / "pads" / f"bad{number}").mkdir()
        (out / "pads" / f"bad{number}" / "pad.json").write_text(json.dumps(whole))
    (out / "pads" / "Tides" / "01.py").unlink()
    (out / "pads" / "Tides" / "01.py").symlink_to(secret)
    (out / "tasks" / "link.md").symlink_to(secret)
    (out / "trash").symlink_to(out)
    os.mkfifo(out / "tasks" / "pipe.md")
    shell = fresh(filled, tmp_path)
    done = shell("import", str(out))
    assert done.code == 1
    for told in ("pads/Tides/01.py is a link", "tasks/link.md is a link", "trash/notes is a link"):
        assert told in done.out
    assert "tasks/pipe.md cannot be read" in done.out
    assert done.out.count("is not the name of a file beside pad.json") == 5
    assert "Pads: none." in done.out
    assert "secret" not in shell("search", "secret").out


def pad_file(number: int, **fields: Any) -> bytes:
    whole = {"scratch_id": str(uuid.UUID(int=number)), "created_at": "2026-01-01"}
    return json.dumps({**whole, "cells": [], **fields}).encode()


MERGES: Final = "".join(f"a{n + 1}: &a{n + 1} {{<<: [*a{n}, *a{n}]}}\n" for n in range(40))
LATE_COMMENT: Final = b'- {"version": 2, "at": "2026-01-01", "by": "x", "text": "x"}'
BAD_FILES: Final = {
    "tasks/b1.md": (b"\xff", "tasks/b1.md is not a task in UTF-8 text"),
    "tasks/b2.md": (b"no title", "tasks/b2.md has no title"),
    "tasks/b3.md": (b"---\ntitle: x\nstatus: open\n---\n", "b3.md: status is pending or completed"),
    "tasks/b4.md": (
        b"---\ntitle: x\nversion: 1.5\n---\n",
        "tasks/b4.md: 1.5 is not a whole number",
    ),
    "tasks/b5.md": (b"---\ntitle: x\ncomments:\n- 1\n---\n", "tasks/b5.md: a comment has"),
    "pads/b6/pad.json": (b"[]", "pads/b6/pad.json: pad.json is not a JSON object"),
    "pads/b7/pad.json": (b'{"scratch_id": 1}', "pads/b7/pad.json: scratch_id must be a UUID"),
    "notes/b8.md": (b"a\x00", "notes/b8.md"),
    "tasks/b9.md": (b"---\ntitle: x\nstatus: []\n---\n", "b9.md: status is pending or completed"),
    "tasks/c1.md": (b"---\ntitle: !!bool maybe\n---\n", "tasks/c1.md is not a task"),
    "tasks/c2.md": (b"---\ntitle: !!int ''\n---\n", "tasks/c2.md is not a task"),
    "tasks/c3.md": (b"---\ntitle: !!timestamp foo\n---\n", "tasks/c3.md is not a task"),
    "tasks/c4.md": (b"---\na: &a x\ntitle: *a\n---\n", "tasks/c4.md is not a task"),
    "tasks/c5.md": (f"---\ntags: {[*range(51)]}\n---\n".encode(), "c5.md: tags holds 51 entries"),
    "tasks/c6.md": (b"---\nversion: 2147483647\n---\n", "c6.md: 2147483647 is not a whole number"),
    "tasks/c7.md": (
        b"---\ntitle: x\ncomments:\n%s\n---\n" % LATE_COMMENT,
        "tasks/c7.md has a comment of a later version",
    ),
    "tasks/caf\udce9.md": (b"no title", "tasks/caf\ufffd.md has no title"),
    "notes/c8.md": (f"---\na0: &a0 {{b: c}}\n{MERGES}---\n".encode(), "notes/c8.md is not YAML"),
    "notes/twin2.md": (b"---\nid: twin\n---\n", "twin2.md has the same id as notes/twin1.md"),
    "pads/c9/pad.json": (
        pad_file(9, cells=[{"file": "\ud800.py", "language": "python"}]),
        "pads/c9/\ufffd.py cannot be read",
    ),
    "pads/d1/pad.json": (pad_file(10, version=2147483647), "version 2147483647 is not"),
}
GOOD_FILES: Final = {
    "notes/caf\udce9.md": b"coffee",
    "notes/twin1.md": b"---\nid: twin\n---\n",
    f"notes{1000 * '/d'}/note.md": b"deep",
    "tasks/caf\udce8.md": b"---\ntitle: Brew\n---\n",
    "pads/null/pad.json": pad_file(1, metadata={"title": None}),
}


def test_bad_files_are_named_and_the_others_are_imported(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    whole = {name: data for name, (data, _) in BAD_FILES.items()} | GOOD_FILES
    for name, data in whole.items():
        make_folder((out / name).parent)
        (out / name).write_bytes(data)
    manifest = json.loads((out / "desk.json").read_text())
    named = {"namespace": "after bad ones", "created_at": "2026-01-01"}
    wrong = [1, {**named, "namespace": " "}, {**named, "created_at": "soon"}]
    manifest = {**manifest, "counts": [1], "namespaces": [*wrong, named]}
    (out / "desk.json").write_text(json.dumps(manifest))
    shell = fresh(filled, tmp_path)
    done = shell("import", str(out))
    remove_folder(out / "notes/d")
    assert done.code == 1, done.err
    for name, (_, told) in BAD_FILES.items():
        assert told in done.out, name
    for at in range(len(wrong)):
        assert f"desk.json: namespaces[{at}]: " in done.out
    assert done.out.count("Left out") == len(BAD_FILES) + len(wrong)
    listed = shell("call", "scratch_namespace", "action=list", "--json").out
    assert "after bad ones" in listed
    assert "Notes: 4 added.\nTasks: 3 added.\nPads: 2 added.\n" in done.out
    assert shell("export", str(tmp_path / "again")).code == 0


def make_folder(folder: Path) -> None:
    """Make a folder and those above, however deep it is."""
    for step in [*reversed(folder.parents), folder]:
        step.mkdir(exist_ok=True)


def remove_folder(folder: Path) -> None:
    """Remove a folder that may be too deep for `shutil.rmtree`."""
    steps = [folder]
    while below := [path for path in steps[-1].iterdir() if path.is_dir()]:
        steps += below
    for step in reversed(steps):
        for file in step.iterdir():
            file.unlink()
        step.rmdir()


@pytest.mark.parametrize("seconds", [1e12, 1e30])
def test_a_task_may_have_dates_where_its_file_has_none(seconds: float) -> None:
    dated = b"---\ntitle: x\ncreated_at: 2026-01-01\n---\n"
    assert parse_task(dated, "a.md", seconds).created_at.year == 2026
    with pytest.raises(InvalidArgument, match=r"a\.md: the file's own date"):
        parse_task(b"---\ntitle: x\n---\n", "a.md", seconds)


@pytest.mark.parametrize(
    ("folder", "told"),
    [("out", "it has no desk.json"), ("out/desk.json", "desk.json cannot be read")],
)
def test_what_is_no_manifest_is_told(shell: Shell, tmp_path: Path, folder: str, told: str) -> None:
    make_folder(tmp_path / folder)
    assert told in shell("import", str(tmp_path / "out")).err


def test_a_task_that_a_person_wrote_is_imported(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    text = "---\ntitle: Sail\ntags:\n  - wind\ndue_at: 2026-05-01\n---\nto the island\n"
    (out / "tasks" / "mine.md").write_text(text)
    shell = fresh(filled, tmp_path)
    assert "Tasks: 3 added." in shell("import", str(out)).out
    (task,) = call(shell, "list_tasks", tag="wind")["data"]
    assert (task["title"], task["description"]) == ("Sail", "to the island")
    assert task["due_at"] == "2026-05-01T23:59:59.999999Z"
    assert "3 here already" in shell("import", str(out)).out


def test_tasks_that_wait_for_each_other_are_refused(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    ids = {
        name: json.loads((out / "tasks" / f"{name}.md").read_text().split("\n")[1][4:])
        for name in ("Mend", "Paint")
    }
    mend = out / "tasks" / "Mend.md"
    mend.write_text(mend.read_text().replace("\ntags", f'\nblocked_by: ["{ids["Paint"]}"]\ntags'))
    shell = fresh(filled, tmp_path)
    done = shell("import", str(out))
    assert done.code == 1
    assert "Left out: all tasks: blocked_by makes tasks wait for each other" in done.out
    assert "Tasks: none.\nPads: 1 added.\n" in done.out


def test_file_names_tell_the_title_on_any_file_system() -> None:
    assert file_stem("  Über: Häfen/../x  ", "note") == "Über-Häfen-x"
    assert {file_stem(title, "note") for title in ("", "..", "/// \\")} == {"note"}
    assert len(file_stem("w" * 500, "note")) == 60
    assert [file_stem(title, "") for title in ("con", "LPT1", "console")] == [
        "con-",
        "LPT1-",
        "console",
    ]
    names = FreeNames()
    assert [names.take(stem, ".md") for stem in ("a-2", "a", "A", "a")] == [
        "a-2.md",
        "a.md",
        "A-3.md",
        "a-4.md",
    ]


def test_long_work_shows_progress_on_a_terminal(database: Database, tmp_path: Path) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    owner, shown = Owner(make_desk(database)), Terminal()
    for _ in range(3):
        owner.call("add_task", tasks=[{"title": f"t{n}"} for n in range(20)])
    desk_files.export_desk(owner.app, owner.principal, tmp_path / "out", ProgressBar(shown))
    assert "50 tasks" in shown.getvalue()
