"""What people and models send first, to a server that nobody configured, is answered."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Mapping

SOURCE: Final = Path(__file__).parents[2] / "src"
FILES: Final = {
    "README.md": "# Ferry\n\n## Timetable\n\nBoats leave at the hour.\n\n## Fares\n\nTwo coins.\n",
    "src/ferry.py": "class Ferry:\n    def board(self, passenger):\n        return passenger\n",
    "src/fares.ts": "export function fareOf(zone: number): number {\n  return zone * 2;\n}\n",
}
FARES: Final = {"query": "fares", "budget_tokens": "500"}
MARKDOWN: Final = {"language": "md", "content": "#"}
TASK: Final = "{task}"
PAD: Final = "{pad}"
NOTE: Final = "{note}"
SHORT: Final = "{task:.8}"

# A call, and the text that its answer must hold. Names in braces stand for ids answered before.
CALLS: Final[tuple[tuple[str, Mapping[str, Any], str], ...]] = (
    # Where it starts: the repository, without any setting, for retrieval and reader alike.
    ("repo_search", {"query": "passenger"}, "src/ferry.py"),
    ("repo_search", {"query": "PASSENGER", "case": "ignore"}, "src/ferry.py"),
    ("repo_search", {"query": "fareOf", "repo": "", "file_glob": ""}, "src/fares.ts"),
    ("repo_search", {"query": "fareOf", "max_results": 5}, "src/fares.ts"),
    ("repo_search", {"query": "fare", "limit": "5", "regex": "false"}, "src/fares.ts"),
    ("repo_search", {"query": "board", "path": "src/ferry.py"}, "src/ferry.py"),
    ("repo_search", {"query": "board", "path": "src"}, "src/ferry.py"),
    ("repo_search", {"query": "board", "path": "src/"}, "src/ferry.py"),
    ("repo_search", {"query": "board", "path": "."}, "src/ferry.py"),
    ("repo_search", {"query": "board", "path": "code"}, "src/ferry.py"),
    ("repo_search", {"query": "board", "path": "src", "glob": "*.py"}, "src/ferry.py"),
    ("repo_smart_search", {"query": "how much does the ferry cost"}, "README.md"),
    ("repo_smart_search", {"query": "fareOf"}, "src/fares.ts"),
    ("repo_list_dir", {"path": ""}, "src"),
    ("repo_list_dir", {"path": "."}, "src"),
    ("repo_list_dir", {"path": "code/src"}, "src/ferry.py"),
    ("repo_list_dir", {}, "README.md"),
    ("repo_open_file", {"path": "src/ferry.py"}, "class Ferry"),
    ("repo_open_file", {"file": "src/ferry.py"}, "class Ferry"),
    ("repo_get_snippet", {"path": "src/ferry.py", "start_line": "1", "end_line": "2"}, "board"),
    ("smart_read", {"file_path": "README.md"}, "Boats leave"),
    ("smart_read", {"path": "README.md"}, "Boats leave"),
    ("list_sections", {"file_path": "README.md"}, "Timetable"),
    ("read_section", {"file_path": "README.md", "section_heading": "Fares"}, "Two coins"),
    ("estimate_tokens", {"file_path": "README.md"}, "tokens"),
    ("read_plan", {"file_paths": "README.md", **FARES}, "Two coins"),
    ("read_plan", {"path": "README.md", **FARES}, "Two coins"),
    ("read_plan", {"file_path": "**/*.md", **FARES}, "Two coins"),
    # Tasks as models plan them.
    ("next_task", {}, '"data":null'),
    ("add_task", {"title": "Paint the ferry", "due_at": "2031-05-04"}, "2031-05-04T23:59:59"),
    ("add_task", {"title": "Read up", "links": ["https://example.org/tides"]}, "example.org"),
    ("add_task", {"title": "Plain", "description": "", "user_id": "", "tags": None}, "Plain"),
    ("add_task", {"title": "Typed", "priority": "2", "tags": '["harbour"]'}, "harbour"),
    ("add_task", {"tasks": [{"title": "One"}, {"title": "Two", "blocked_by": [0]}]}, "task_id"),
    ("add_task", {"title": "Lone", "tag": "quay", "links": "https://example.org/a"}, "quay"),
    ("add_task", {"title": "Lone too", "acceptance": "It floats", "blocked_by": TASK}, "blocked"),
    ("add_task", {"tasks": {"title": "Single", "tags": "quay", "priority": "1"}}, "task_id"),
    ("list_tasks", {"q": "paint"}, "Paint the ferry"),
    ("list_tasks", {"status": "pending", "limit": "10"}, "Paint the ferry"),
    ("get_task", {"task_id": TASK}, "Paint the ferry"),
    ("get_task", {"task_id": SHORT}, "Paint the ferry"),
    ("update_task", {"task_id": TASK, "comment": "First coat done"}, "Paint the ferry"),
    ("next_task", {}, "title"),
    ("claim_task", {"task_id": TASK}, "token"),
    # Cells in the languages that people name.
    ("scratch_create", {"metadata": {"title": "Trials"}}, "scratch_id"),
    *(
        ("scratch_append_cell", {"scratch_id": PAD, "cell": cell}, "cell_id")
        for cell in (
            {"language": "python", "content": "print(1)\n"},
            {"language": "javascript", "content": "let a = 1;\n"},
            {"language": "TypeScript", "content": "let a: number = 1;\n"},
            {"language": "bash", "content": "ls\n"},
            {"language": "shell", "content": "ls\n"},
            {"language": "markdown", "content": "# Title\n"},
            {"language": "text", "content": "words\n"},
            {"language": "sql", "content": "select 1\n"},
            {"language": "dockerfile", "content": "FROM scratch\n"},
            {"language": "golang", "content": "package a\n"},
            '{"language": "json", "content": "{}"}',
        )
    ),
    ("scratch_create", {"metadata": {"tags": "lone"}, "cells": MARKDOWN}, "cell_id"),
    ("scratch_read", {"scratch_id": PAD, "index": 0}, "print(1)"),
    ("scratch_list", {"tag": "lone", "namespace": "ferry"}, "lone"),
    ("scratch_read", {"scratch_id": PAD, "tags": "", "cell_ids": None}, "Trials"),
    ("scratch_read", {"scratch_id": "{pad:.8}", "indices": "[0]"}, "print(1)"),
    ("scratch_search", {"query": "select"}, "select 1"),
    ("scratch_list", {}, "Trials"),
    # Notes, by the names that were in use before.
    ("note_save", {"text": "Harbour master: ring twice before entering"}, "local_version"),
    ("note_save", {"id": "", "text": "Second note", "tags": []}, "Second note"),
    ("note_save", {"text": "Third note", "tags": "harbour"}, "Third note"),
    ("note_list", {"tag": "harbour"}, "Third note"),
    ("note_list", {"q": "when do I ring at the harbour?"}, "Harbour master"),
    ("note_list", {"q": "", "tags": "", "limit": "5"}, "Harbour master"),
    ("note_get", {"id": NOTE}, "ring twice"),
    ("list_notes", {"q": "harbour"}, "Harbour master"),
    ("get_note", {"id": NOTE}, "ring twice"),
)

KEPT: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "add_task": ("task", ("data", "task_id")),
    "scratch_create": ("pad", ("scratchpad", "scratch_id")),
    "note_save": ("note", ("id",)),
}


async def first_calls(server: StdioServerParameters) -> list[str]:
    """Return every call that was refused, or answered without what it must hold."""
    ids: dict[str, str] = {}
    failed: list[str] = []
    async with Client(server) as client:
        for name, arguments, expected in CALLS:
            result = await client.call_tool(name, fill(arguments, ids))
            text = "".join(getattr(part, "text", "") for part in result.content)
            if result.is_error or expected not in text:
                failed.append(f"{name}({arguments}) → {text[:300]}")
            elif name in KEPT and KEPT[name][0] not in ids:
                key, path = KEPT[name]
                value: Any = result.structured_content
                for step in path:
                    value = value[step]
                ids[key] = value
    return failed


def fill(arguments: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Put ids that were answered in the place of their names in braces."""
    named = re.compile(r"\{(task|pad|note)(:\.8)?\}")
    return {
        name: value.format(**ids) if isinstance(value, str) and named.fullmatch(value) else value
        for name, value in arguments.items()
    }


def test_what_is_sent_first_is_answered(tmp_path: Path) -> None:
    repository = tmp_path / "ferry"
    for name, text in FILES.items():
        file = repository / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "rolltop", "serve"],
        env={**kept, "HOME": str(tmp_path / "home"), "PYTHONPATH": str(SOURCE)},
        cwd=repository,
    )
    assert asyncio.run(first_calls(server)) == []
