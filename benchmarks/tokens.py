"""What every tool costs a model: its entry in tools/list, and a typical answer.

Beside another build, if the path of its `rolltop` program is given. Counted by o200k_base: of an
entry its name, description and input schema, of an answer the text.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.measure import Table
from benchmarks.wire import ROLLTOP, Wire
from rolltop.core import token_counter
from rolltop.core.pagination import compact_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

REPOSITORY: Final = Path(__file__).parents[1]
TASKS, PADS, NOTES = 20, 5, 10
DOCUMENT: Final = "docs/architecture.md"
QUERY: Final = "how does a call run"
LISTED: Final = ("name", "description", "inputSchema")


class Session:
    """One server, of which the first answer of each tool is counted."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.answers: dict[str, int | None] = {}
        wire.initialize()
        self.entries = {tool["name"]: tool for tool in wire.request("tools/list")["tools"]}

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured answer of one call; nothing if the tool is none of this build's."""
        if tool not in self.entries:
            return {}
        result = self._wire.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise ValueError(f"{tool} {arguments}: {result}")
        text = "".join(part["text"] for part in result["content"])
        self.answers.setdefault(tool, _count(text))
        return result["structuredContent"]

    def entry_cost(self, tool: str) -> int | None:
        """Return the tokens of a tool's entry, None if there is no such tool."""
        entry = self.entries.get(tool)
        return entry and _count(compact_json({name: entry[name] for name in LISTED}))


def _count(text: str) -> int:
    return token_counter.count(text, "o200k_base")


def compare(commands: Sequence[Sequence[str]]) -> Table:
    """Return the table of one build, or of two side by side, the older one first."""
    sessions = [_measure(command) for command in commands]
    tools = list(dict.fromkeys(name for session in sessions[::-1] for name in session.entries))
    rows = [_row(tool, [_costs(session, tool) for session in sessions]) for tool in tools]
    totals = [(sum(session.entry_cost(tool) or 0 for tool in tools), None) for session in sessions]
    builds = ("this build",) if len(commands) == 1 else ("before", "after")
    return Table(
        "Tokens of every tool",
        f"{TASKS} tasks, {PADS} scratchpads of 3 cells, {NOTES} notes, and this repository's docs "
        "and core as roots; default budgets.",
        ("tool", *(f"{kind}, {build}" for kind in ("entry", "answer") for build in builds)),
        [*rows, _row("all entries", totals)],
    )


def _costs(session: Session, tool: str) -> tuple[int | None, int | None]:
    return session.entry_cost(tool), session.answers.get(tool)


def _row(name: str, costs: Sequence[tuple[int | None, int | None]]) -> tuple[str, ...]:
    cells = [of_build[kind] for kind in (0, 1) for of_build in costs]
    return (name, *("none" if cell is None else f"{cell:,}" for cell in cells))


def _measure(command: Sequence[str]) -> Session:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        shutil.copytree(REPOSITORY / "docs", home / "docs")
        shutil.copytree(
            REPOSITORY / "src/rolltop/core", home / "core", ignore=shutil.ignore_patterns("*.pyc")
        )
        roots = {"DOCS_ROOT": str(home / "docs"), "CODE_ROOT": str(home / "core")}
        with Wire((*command, "serve"), home, **roots, ROLLTOP_READER_ROOTS=str(home)) as wire:
            session = Session(wire)
            for use in _USES:
                use(session)
    missing = session.entries.keys() - session.answers.keys()
    if missing:
        raise ValueError(f"never called: {', '.join(sorted(missing))}")
    return session


def _use_tasks(session: Session) -> None:
    call = session.call
    ids: list[str] = []
    for number in range(TASKS):
        task = {
            "title": f"Replace the mooring line of quay {number}",
            "description": "The old one is worn where it runs over the bollard; take 24 mm.",
            "tags": ["harbour"],
            "priority": number % 5,
        }
        ids.append(call("add_task", **task)["data"]["task_id"])
    call("list_tasks")
    call("update_task", task_id=ids[1], title="Replace both mooring lines")
    call("get_task", task_id=ids[1])
    token = call("claim_task", task_id=ids[0])["data"]["claim"]["token"]
    call("complete_task", task_id=ids[0], token=token)
    call("reopen_task", task_id=ids[0])
    call("next_task")
    call("delete_task", task_id=ids[2])
    call("restore_task", task_id=ids[2])


def _use_pads(session: Session) -> None:
    call = session.call
    cell = {"language": "json", "content": '{"quay": 4, "depth": 7.5}\n', "validate": True}
    code = {"language": "py", "content": "def depth(quay):\n    return 7.5\n", "validate": True}
    text = {"language": "md", "content": "# Quays\n\nFour of them, each 90 m long.\n"}
    made: list[str] = []
    for number in range(PADS):
        fields = {"metadata": {"title": f"Soundings {number}"}, "tags": ["depths"]}
        pad = call("scratch_create", **fields, cells=[cell, code, text])
        made.append(pad["scratchpad"]["scratch_id"])
    pad = {"scratch_id": made[0]}
    call("scratch_read", **pad)
    cells = call("scratch_list_cells", **pad)["cells"]
    one = {**pad, "cell_id": cells[0]["cell_id"]}
    call("scratch_append_cell", **pad, cell=cell)
    call("scratch_replace_cell", **one, cell=cell)
    call("scratch_edit_cell", **one, edits=[{"old": "7.5", "new": "8"}])
    call("scratch_delete_cell", **one)
    call("scratch_update", **pad, tags=["depths", "2026"])
    call("scratch_list")
    call("scratch_list_tags")
    call("scratch_validate", **pad)
    call("scratch_search", query="depth of the quays")
    schema = {"name": "quay", "schema": {"type": "object", "required": ["quay"]}}
    call("scratch_schema", action="upsert", **pad, schema=schema)
    call("scratch_namespace", action="list")
    call("scratch_delete", **pad)
    call("scratch_restore", **pad)


def _use_notes(session: Session) -> None:
    call = session.call
    text = "# Harbour {}\n\nOpen from six to ten.\nRing twice before entering.\n"
    ids = [
        call("note_save", text=text.format(number), tags=["harbour"])["id"]
        for number in range(NOTES)
    ]
    call("note_list", q="when do I ring?")
    call("note_get", id=ids[0])
    call("note_manage", action="history", id=ids[0])


def _use_files(session: Session) -> None:
    call = session.call
    call("repo_search", query="InvalidArgument")
    call("repo_smart_search", query=QUERY)
    call("repo_open_file", path="dispatch.py")
    call("repo_get_snippet", path="dispatch.py", start_line=1, end_line=40)
    call("repo_list_dir")
    call("smart_read", file_path=DOCUMENT, mode="summary")
    call("list_sections", file_path=DOCUMENT)
    call("read_section", file_path=DOCUMENT, section_heading="Startup")
    call("estimate_tokens", file_path=DOCUMENT)
    call("read_plan", file_paths=[DOCUMENT], query=QUERY, budget_tokens=1500)


def _use_desk(session: Session) -> None:
    call = session.call
    call("desk_resume")
    hits = call("desk_search", query="mooring line").get("hits")
    changes = call("desk_history").get("changes")
    call("desk_changes", since="0")
    if not hits or not changes:
        return
    call("desk_read", uri=hits[0]["uri"])
    call("desk_link", **{"from": hits[0]["uri"], "relation": "relates", "to": hits[1]["uri"]})
    call("desk_undo", operation=changes[0]["operation"])


_USES: Final[tuple[Callable[[Session], None], ...]] = (
    _use_tasks,
    _use_pads,
    _use_notes,
    _use_files,
    _use_desk,
)


def tables() -> Iterator[Table]:
    """Return the table of this build."""
    yield compare([ROLLTOP[:1]])


if __name__ == "__main__":
    print(compare([*((other,) for other in sys.argv[1:2]), ROLLTOP[:1]]).markdown())
