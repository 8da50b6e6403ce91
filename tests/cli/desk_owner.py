"""A user who fills a desk by the tools, exports it and imports it."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any, Final, get_args

from hypothesis import strategies as st

from rolltop.cli import desk_files
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.toolsets.desk.models import Relation
from tests.desks import call_tool

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext
    from tests.databases import Clock

_ALPHABET: Final = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
numbers = count(1)
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
                "assignee": st.just("me"),
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
        email = f"user{next(numbers)}@example.org"
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

    def past_of(self, note: str) -> list[Any]:
        """Return the earlier versions of a note."""
        return self.call("note_manage", action="history", id=note).get("versions") or []

    def manage(self, action: str, note: str, **more: Any) -> dict[str, Any]:
        """Manage a note as it is now, or as it was last."""
        now = self.call("note_get", id=note).get("local_version")
        if action == "restore":
            past: list[Any] = self.past_of(note) or [{}]
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
        """Return all that the tools show of the desk; not who made a version, nor reads of pads."""
        pads = [self.call("scratch_read", scratch_id=pad) for pad in self.pads]
        for pad in pads:
            for name in ("last_access_at", "tenant_id"):
                pad.get("scratchpad", {}).pop(name, None)
        return [
            [self.shown_of_note(note) for note in self.notes],
            self.call("note_list", trash_s=2, limit=100),
            [self.shown_of_task(task) for task in self.tasks],
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

    def shown_of_task(self, task: str) -> dict[str, Any]:
        """Return a task as get_task shows it, without what the journal tells."""
        shown = self.call("get_task", task_id=task)
        shown.get("data", {}).pop("history", None)
        return shown

    def shown_of_note(self, note: str) -> list[Any]:
        """Return a note with all of its versions."""
        past = self.past_of(note)
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


def fill(owner: Owner, clock: Clock) -> None:
    """Use every tool that writes, each a second later, and keep the ids of what is there."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        clock.advance(seconds=1)
        return owner.call(tool, **arguments)

    plan: list[dict[str, Any]] = [
        {"title": f"Step {n}", "tags": ["hull"], "project": "ferry"} for n in range(4)
    ]
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
