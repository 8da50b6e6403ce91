"""The calls that the TypeScript clients make: every tool, and every action of those that have some.

In order: an argument "$0.data.task_id" is that part of the answer to the first call. What a tool
refuses in the state the clients find it in stands in REFUSED.
"""

from __future__ import annotations

from typing import Final

Calls = list[tuple[str, dict[str, object]]]

DOCUMENT: Final = "harbours.md"
TEXT: Final = (
    "# Harbours\n\nStorms.\n\n## Methods\n\n" + "We counted the masts of 30 ships.\n" * 300
)

_TASKS: Final[Calls] = [
    ("add_task", {"title": "Write it down"}),
    ("list_tasks", {}),
    ("update_task", {"task_id": "$0.data.task_id", "description": "…and file it"}),
    ("claim_task", {"task_id": "$0.data.task_id"}),
    ("get_task", {"task_id": "$0.data.task_id"}),
    ("complete_task", {"task_id": "$0.data.task_id", "token": "$3.data.claim.token"}),
    ("reopen_task", {"task_id": "$0.data.task_id"}),
    ("next_task", {}),
    ("delete_task", {"task_id": "$0.data.task_id"}),
    ("restore_task", {"task_id": "$0.data.task_id"}),
]

_READER: Final[Calls] = [
    ("smart_read", {"file_path": DOCUMENT, "mode": "summary"}),
    ("smart_read", {"file_path": DOCUMENT, "mode": "full"}),
    ("list_sections", {"file_path": DOCUMENT}),
    ("read_section", {"file_path": DOCUMENT, "section_heading": "Methods"}),
    ("estimate_tokens", {"text": "<|endoftext|>"}),
    ("read_plan", {"file_paths": [DOCUMENT], "query": "masts", "budget_tokens": 2000}),
]

_PAD: Final = {"scratch_id": "11111111-1111-4111-8111-111111111111"}
_CELL: Final = {**_PAD, "cell_id": "22222222-2222-4222-8222-222222222222"}
_SCHEMA: Final = {**_PAD, "schema_id": "33333333-3333-4333-8333-333333333333"}
_SCRATCH: Final[Calls] = [
    (
        "scratch_create",
        {
            **_PAD,
            "metadata": {"title": "Harbours", "schemas": {"ship": {"schema": {"type": "object"}}}},
            "namespace": "coast",
            "tags": ["sea"],
            "cells": [{"language": "md", "content": "# Masts", "tags": ["draft"]}],
        },
    ),
    (
        "scratch_schema",
        {
            **_PAD,
            "action": "upsert",
            "schema": {
                "id": _SCHEMA["schema_id"],
                "name": "mast",
                "schema": {"properties": {"masts": {"type": "integer"}}},
            },
        },
    ),
    ("scratch_schema", {**_PAD, "action": "list"}),
    ("scratch_schema", {**_SCHEMA, "action": "get"}),
    (
        "scratch_append_cell",
        {
            **_PAD,
            "cell": {
                "cell_id": _CELL["cell_id"],
                "language": "json",
                "content": '{"masts": "three"}',
                "validate": True,
                "json_schema": "scratchpad://schemas/mast",
            },
        },
    ),
    ("scratch_validate", {**_PAD}),
    ("scratch_read", {**_PAD}),
    ("scratch_list_cells", {**_PAD}),
    ("scratch_edit_cell", {**_CELL, "edits": [{"old": '"three"', "new": "3"}]}),
    ("scratch_replace_cell", {**_CELL, "cell": {"language": "py", "content": "masts = ("}}),
    ("scratch_search", {"query": "masts"}),
    ("scratch_search", {"query": "masts", "mode": "words", "namespaces": ["coast"]}),
    ("scratch_delete_cell", {**_CELL}),
    ("scratch_schema", {**_SCHEMA, "action": "delete"}),
    ("scratch_update", {**_PAD, "tags": ["sea", "wind"], "metadata": {"summary": "Of ships"}}),
    ("scratch_list", {}),
    ("scratch_list_tags", {}),
    ("scratch_namespace", {"action": "create", "namespace": "hills"}),
    (
        "scratch_namespace",
        {"action": "rename", "old_namespace": "coast", "new_namespace": "shore"},
    ),
    ("scratch_namespace", {"action": "list"}),
    ("scratch_namespace", {"action": "delete", "namespace": "hills"}),
    ("scratch_delete", {**_PAD}),
    ("scratch_restore", {**_PAD}),
]

_RETRIEVAL: Final[Calls] = [
    ("repo_search", {"query": "masts of 30", "limit": 2, "context": 1}),
    ("repo_search", {"query": "ma[s]ts", "regex": True, "case": "smart", "file_glob": "*.md"}),
    ("repo_search", {"query": "no such words"}),
    ("repo_smart_search", {"query": "how many masts"}),
    ("repo_open_file", {"path": DOCUMENT}),
    ("repo_open_file", {"path": DOCUMENT, "lines": True}),
    ("repo_get_snippet", {"path": DOCUMENT, "start_line": 3, "end_line": 5}),
    ("repo_get_snippet", {"path": DOCUMENT, "start_line": 3, "end_line": 5, "lines": True}),
    ("repo_list_dir", {}),
    ("repo_list_dir", {"repo": "docs", "depth": 2}),
]


def _notes(first: int) -> Calls:
    """Return the calls of a note's life; the call at `first` makes it."""
    note: dict[str, object] = {"id": f"${first}.id"}
    return [
        ("note_save", {"text": "Masts\n\nWe counted 30.\n", "tags": ["sea"]}),
        ("note_get", note),
        ("note_get", {**note, "range_line_start": 2, "range_line_count": 1}),
        (
            "note_save",
            {**note, "local_version": 1, "text_patch": [{"op": "mod", "ln": 3, "val": "31."}]},
        ),
        ("note_list", {}),
        ("note_list", {"q": "masts tag:sea", "preview_lines": 2, "sort": "rank"}),
        ("note_manage", {**note, "action": "history"}),
        ("note_manage", {**note, "action": "restore", "version": 1, "local_version": 2}),
        ("note_manage", {**note, "action": "trash", "local_version": 3}),
        ("note_manage", {**note, "action": "untrash", "local_version": 4}),
        ("note_manage", {**note, "action": "trash", "local_version": 5}),
        ("note_manage", {**note, "action": "delete_permanently", "local_version": 6}),
        ("note_manage", {"action": "get_stats"}),
    ]


_DESK: Final[Calls] = [
    ("desk_read", {"uri": f"rolltop://file/docs/{DOCUMENT}#L1-3"}),
    ("desk_read", {"uri": f"rolltop://pad/{_PAD['scratch_id']}"}),
    ("desk_resume", {}),
    ("desk_search", {"query": "how many masts"}),
    ("desk_changes", {"since": "0"}),
    (
        "desk_link",
        {
            "from": f"rolltop://pad/{_PAD['scratch_id']}",
            "relation": "relates",
            "to": "https://example.org/",
        },
    ),
    ("desk_history", {}),
]
_BEFORE_UNDO: Final = [*_TASKS, *_READER, *_SCRATCH, *_RETRIEVAL, *_DESK]
_LAST: Final = f"${len(_BEFORE_UNDO) - 1}.changes.0.operation"
_DESK.append(("desk_undo", {"operation": _LAST}))
_BEFORE_NOTES: Final = [*_TASKS, *_READER, *_SCRATCH, *_RETRIEVAL, *_DESK]
CALLS: Final[Calls] = [*_BEFORE_NOTES, *_notes(len(_BEFORE_NOTES))]
REFUSED: Final[Calls] = [
    ("note_manage", {"action": "sync"}),
    ("note_manage", {"action": "reset_cache"}),
]
"""No account is connected."""
