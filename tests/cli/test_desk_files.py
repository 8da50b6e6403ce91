"""`rolltop export` and `rolltop import`: all of a user's desk as files, and back."""

from __future__ import annotations

import hashlib
import io
import json
import os
import uuid
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import Mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.cli import desk_files
from rolltop.cli.plain_files import FreeNames, file_stem
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.accounts import delete_user
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidArgument
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.tasks.import_export import parse_task
from tests.campaign import examples
from tests.cli.desk_owner import STEPS, Owner, bring, export, files, fill, numbers
from tests.desks import make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.db import Database
    from tests.cli.conftest import Shell
    from tests.databases import Clock


@settings(max_examples=examples(5), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_a_desk_that_is_imported_is_exported_byte_for_byte(
    database: Database, tmp_path: Path, steps: list[tuple[Any, ...]]
) -> None:
    number = next(numbers)
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


def test_what_every_tool_wrote_is_shown_after_an_import(
    database: Database, clock: Clock, tmp_path: Path
) -> None:
    first = Owner(make_desk(database))
    fill(first, clock)
    writing = {tool.name for toolset in TOOLSETS for tool in toolset.tools if not tool.is_read_only}
    assert writing <= first.called
    before, seen = export(first, tmp_path / "a"), first.seen()
    clock.advance(minutes=30)
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
    shell.set("ROLLTOP_DATA_DIR", str(tmp_path / f"data{next(numbers)}"))
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
    assert {path.stat().st_mode & 0o777 for path in (out, *out.glob("**/"))} == {0o700}
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


@pytest.mark.parametrize("all_are_there", [True, False])
def test_another_users_desk_is_imported_with_ids_of_its_own(
    database: Database,
    tmp_path: Path,
    all_are_there: bool,  # noqa: FBT001  # a case
) -> None:
    first, second = (Owner(make_desk(database)) for _ in range(2))
    plan = [{"title": "a"}, {"title": "b", "blocked_by": [0]}]
    made = first.call("add_task", tasks=plan)["data"]
    named = f"rolltop://task/{made[0]['task_id']}@1"
    first.call("update_task", task_id=made[1]["task_id"], links=[named])
    export(first, tmp_path / "out")
    if not all_are_there:
        (file,) = (tmp_path / "out" / "tasks").glob("b*")
        file.write_text(file.read_text().replace(made[1]["task_id"], str(uuid.uuid4())))
    assert bring(second, tmp_path / "out")["tasks"]["added"] == 2
    a, b = sorted(second.call("list_tasks")["data"], key=lambda task: task["title"])
    assert b["blocked_by"] == [a["task_id"]]
    shown = second.call("get_task", task_id=b["task_id"])["data"]
    assert shown["links"] == [f"rolltop://task/{a['task_id']}@1"]
    assert not {a["task_id"], b["task_id"]} & {one["task_id"] for one in made}
    assert bring(second, tmp_path / "out")["tasks"] == {"added": 0, "unchanged": 2, "kept": 0}


def test_a_link_that_is_none_is_left_out_and_told(database: Database, tmp_path: Path) -> None:
    first, second = (Owner(make_desk(database)) for _ in range(2))
    export(first, tmp_path / "out")
    manifest = tmp_path / "out" / "desk.json"
    ends = {"from": "rolltop://note/a", "to": "rolltop://note/b"}
    odd: list[Any] = [{"relation": ["relates"], **ends}, {"relation": {}, **ends}, 7]
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"links": odd}))
    left_out = bring(second, tmp_path / "out")["left_out"]
    assert [message.partition(": ")[2].partition(":")[0] for message in left_out] == [
        "links[0]",
        "links[1]",
        "links[2]",
    ]


def test_what_a_file_says_of_a_cells_validation_is_not_believed(
    database: Database, tmp_path: Path
) -> None:
    first, second = (Owner(make_desk(database)) for _ in range(2))
    cells: list[dict[str, Any]] = [
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


def test_nothing_stays_of_a_file_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(InvalidArgument, match="No space left"):
        desk_files.plain_files.write_file(tmp_path / "notes.json", b"{}")
    assert list(tmp_path.iterdir()) == []


def test_an_export_into_the_folder_of_another_that_runs_takes_nothing_from_it(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, out = Owner(make_desk(database)), tmp_path / "out"
    owner.call("note_save", text="walrus")
    owner.call("add_task", title="sealion")
    written, refused = desk_files.plain_files.write_file, list[str]()

    def write(path: Path, data: bytes) -> None:
        written(path, data)
        if path.parent.name == "notes":
            monkeypatch.setattr("rolltop.cli.plain_files.write_file", written)
            monkeypatch.setattr("rolltop.cli.plain_files.require_empty", Mock())
            with pytest.raises(InvalidArgument) as raised:  # it looked a moment before
                export(owner, out)
            refused.append(raised.value.message)

    monkeypatch.setattr("rolltop.cli.plain_files.write_file", write)
    whole = export(owner, out)
    assert "File exists" in refused[0]
    assert sorted(whole) == ["desk.json", "notes/walrus.md", "tasks/sealion.md"]


def test_files_that_are_missing_are_told(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    (out / "tasks" / "Mend.md").unlink()
    done = fresh(filled, tmp_path)("import", str(out))
    assert done.code == 1
    assert "desk.json counts 2 tasks, and the folder has 1" in done.out
    assert "refers to" in done.out


def test_an_edited_note_of_an_account_is_not_called_older(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("export", str(out))
    filled.set("SIMPLENOTE_USERNAME", "ada@example.org")
    filled.set("SIMPLENOTE_TOKEN", "walrus")
    assert "Notes: 1 added." in filled("import", str(out)).out
    file = out / "notes" / "Harbour.md"
    file.write_text(file.read_text().replace("open at six", "closed"))
    assert "Notes: 1 different here and left so." in filled("import", str(out)).out
    assert "Left as they are here: 1 of" in filled("notes", "import", str(out / "notes")).out


def test_notes_that_an_export_has_not_are_told(filled: Shell, tmp_path: Path) -> None:
    filled.set("SIMPLENOTE_USERNAME", "ada@example.org")
    filled.set("SIMPLENOTE_TOKEN", "walrus")
    done = filled("export", str(tmp_path / "out"))
    assert done.code == 0
    assert done.out.startswith("Wrote 0 notes, 2 tasks, 1 pad to ")
    assert "or of none, that are not in it: 1." in done.out


def test_a_history_without_its_note_is_told(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (note,) = call(filled, "note_list")["items"]
    edit = {"id": note["id"], "text": "# Harbour\n\nclosed", "version": note["local_version"]}
    call(filled, "note_save", **edit)
    filled("export", str(out))
    (out / "notes" / "Harbour.md").rename(out / "notes" / "Port.md")
    done = fresh(filled, tmp_path)("import", str(out))
    assert done.code == 1
    assert "Left out: history/Harbour.json is of no note of its name." in done.out
    assert "1 added" in done.out


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
