"""For every tool, arguments that succeed on a desk with a lot on it.

A toolset's tools are missing here until someone adds them: the generic tests then fail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.desks import call_tool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal

LONG_DOCUMENT = "huge.md"
_DESCRIPTION = "Wörter “quoted” \\ and \t tabs 😀 — " * 50


@dataclass(frozen=True)
class Stage:
    """A desk, its caller, and a folder that is the root `docs`."""

    desk: AppContext
    scope: Principal
    folder: Path

    def call(self, name: str, **arguments: Any) -> Any:
        """Return what a call that must succeed answered."""
        answer = call_tool(self.desk, self.scope, name, **arguments)
        assert not answer.is_error, answer.text
        return answer.structured

    def task(self, **fields: Any) -> str:
        """Return the id of a new task with everything a task can hold."""
        full = {
            "title": "t" * 200,
            "description": _DESCRIPTION[:2000],
            "priority": 1,
            "tags": ["alpha", "beta"],
            "due_at": "2030-01-01T00:00:00Z",
            "assignee": "me",
            **fields,
        }
        return self.call("add_task", **full)["data"]["task_id"]

    def pad(self, **fields: Any) -> str:
        """Return the id of a new scratchpad with three cells and all a pad can hold."""
        full = {
            "metadata": {"title": "A pad", "summary": "Storms", "kept": [1, None]},
            "tags": ["alpha", "beta"],
            "cells": [
                {"language": "md", "content": f"# Harbour {n}\n\n{_DESCRIPTION}", "tags": ["c"]}
                for n in range(3)
            ],
            **fields,
        }
        return self.call("scratch_create", **full)["scratchpad"]["scratch_id"]

    def deleted_pad(self) -> str:
        """Return the id of a scratchpad in the trash."""
        pad = self.pad()
        self.call("scratch_delete", scratch_id=pad)
        return pad

    def cell(self) -> dict[str, str]:
        """Return the ids of a new scratchpad and its first cell."""
        pad = self.pad()
        cells = self.call("scratch_list_cells", scratch_id=pad)["cells"]
        return {"scratch_id": pad, "cell_id": cells[0]["cell_id"]}

    def schema(self) -> dict[str, str]:
        """Return the ids of a new scratchpad and of a schema it keeps."""
        pad = self.pad()
        entry = {"name": "pair", "schema": {"type": "array", "minItems": 2}}
        kept = self.call("scratch_schema", action="upsert", scratch_id=pad, schema=entry)
        return {"scratch_id": pad, "schema_id": kept["schema"]["id"]}

    def note(self, **fields: Any) -> str:
        """Return the id of a new note with tags and several versions."""
        full = {"text": f"# Harbour\n\n{_DESCRIPTION}\nlast", "tags": ["alpha", "beta"], **fields}
        note = self.call("note_save", **full)
        patch = [{"op": "add", "ln": 1, "val": "First"}]
        self.call("note_save", id=note["id"], local_version=1, text_patch=patch)
        return note["id"]

    def operation(self) -> str:
        """Return the id of an operation that can be undone."""
        self.task()
        return self.call("desk_history")["changes"][0]["operation"]

    def deleted_task(self) -> str:
        """Return the id of a task in the trash."""
        task = self.task()
        self.call("delete_task", task_id=task)
        return task


def fill(stage: Stage) -> None:
    """Put more on the desk than any budget holds."""
    for _ in range(60):
        stage.task()
    for n in range(20):
        stage.pad(namespace=f"space {n}", tags=[f"tag {n} {part}" for part in range(20)])
    for _ in range(20):
        stage.deleted_pad()
    for n in range(60):
        stage.note(tags=[f"tag {n} {part}" for part in range(20)])
    write_long_document(stage.folder / LONG_DOCUMENT)
    for n in range(120):
        path = stage.folder / f"logbook-{n % 12:02}" / f"voyage-{n:03}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Voyage {n}\n\nThe storm took {n} masts.\n", encoding="utf-8")


def write_long_document(path: Path) -> None:
    """Write a Markdown document of some 120,000 tokens with nested and repeated headings."""
    lines = ["# The long document", "", "Keywords: storms, harbours, timber", ""]
    for chapter in range(1, 61):
        lines += [f"## {chapter} Chapter about harbour {chapter}", ""]
        for part in range(1, 6):
            lines += [f"### {chapter}.{part} Methods", ""]
            lines += [
                f"Ship {chapter * part} carried timber {n} through the storm of year {1700 + n}; "
                f"we found that harbour {chapter} lost {n * part} masts and 😀 kept its “light”."
                for n in range(10)
            ]
            lines += ["", "```sh", "# not a heading", "```", ""]
    path.write_text("\n".join(lines), encoding="utf-8")


SAMPLES: dict[str, Callable[[Stage], dict[str, Any]]] = {
    "add_task": lambda _: {"title": "Write it down"},
    "list_tasks": lambda _: {},
    "get_task": lambda stage: {"task_id": stage.task()},
    "complete_task": lambda stage: {"task_id": stage.task()},
    "update_task": lambda stage: {"task_id": stage.task(), "title": "Another"},
    "delete_task": lambda stage: {"task_id": stage.task()},
    "next_task": lambda _: {},
    "claim_task": lambda stage: {"task_id": stage.task()},
    "reopen_task": lambda stage: {"task_id": stage.task()},
    "restore_task": lambda stage: {"task_id": stage.deleted_task()},
    "scratch_create": lambda _: {"cells": [{"language": "txt", "content": "x"}] * 30},
    "scratch_read": lambda stage: {"scratch_id": stage.pad()},
    "scratch_list_cells": lambda stage: {"scratch_id": stage.pad()},
    "scratch_append_cell": lambda stage: {
        "scratch_id": stage.pad(),
        "cell": {"language": "json", "content": "[1,", "validate": True},
    },
    "scratch_replace_cell": lambda stage: {
        **stage.cell(),
        "cell": {"language": "txt", "content": "other"},
    },
    "scratch_edit_cell": lambda stage: {**stage.cell(), "edits": [{"old": "# ", "new": "## "}]},
    "scratch_delete_cell": lambda stage: stage.cell(),
    "scratch_update": lambda stage: {"scratch_id": stage.pad(), "tags": ["gamma"]},
    "scratch_delete": lambda stage: {"scratch_id": stage.pad()},
    "scratch_restore": lambda stage: {"scratch_id": stage.deleted_pad()},
    "scratch_list": lambda _: {},
    "scratch_list_tags": lambda _: {},
    "scratch_validate": lambda stage: {"scratch_id": stage.pad()},
    "scratch_search": lambda _: {"query": "harbour", "limit": 50},
    "scratch_schema": lambda stage: {**stage.schema(), "action": "list"},
    "scratch_namespace": lambda _: {"action": "list"},
    "note_list": lambda _: {"q": "harbour", "limit": 100, "preview_lines": 20},
    "note_get": lambda stage: {"id": stage.note()},
    "note_save": lambda stage: {
        "id": stage.note(),
        "local_version": 1,
        "text_patch": [{"op": "mod", "ln": 3, "val": _DESCRIPTION}],
    },
    "note_manage": lambda stage: {"action": "history", "id": stage.note()},
    "smart_read": lambda _: {"file_path": LONG_DOCUMENT},
    "read_section": lambda _: {"file_path": LONG_DOCUMENT, "section_heading": "The long document"},
    "list_sections": lambda _: {"file_path": LONG_DOCUMENT},
    "estimate_tokens": lambda _: {"file_path": LONG_DOCUMENT},
    "read_plan": lambda _: {
        "file_paths": [LONG_DOCUMENT],
        "query": "storm masts",
        "budget_tokens": 2000,
    },
    "repo_search": lambda _: {"query": "storm", "context": 1, "limit": 1000},
    "repo_smart_search": lambda _: {"query": "which storm took masts?", "limit": 100},
    "repo_open_file": lambda _: {"path": LONG_DOCUMENT},
    "repo_get_snippet": lambda _: {"path": LONG_DOCUMENT, "start_line": 9, "end_line": 9000},
    "repo_list_dir": lambda _: {"repo": "docs", "depth": 3},
    "desk_resume": lambda stage: {"project": "*"[: len(stage.note())]},
    "desk_search": lambda _: {"query": "which harbour lost masts in the storm?"},
    "desk_history": lambda stage: {"since": str(0 * len(stage.task()))},
    "desk_changes": lambda stage: {"since": str(0 * len(stage.task()))},
    "desk_undo": lambda stage: {"operation": stage.operation()},
    "desk_link": lambda stage: {
        "from": f"rolltop://note/{stage.note()}",
        "relation": "implements",
        "to": f"rolltop://task/{stage.task()}",
    },
    "desk_read": lambda stage: {"uri": f"rolltop://note/{stage.note()[:8]}#L1-9"},
}
