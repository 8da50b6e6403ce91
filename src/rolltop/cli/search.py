"""`rolltop search`: one question to all toolsets that search, answered in one list."""

from __future__ import annotations

import json
import re
import shutil
import sys
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rolltop.cli import local_context, options, render
from rolltop.core.context import ignore_progress
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import ALL_PROJECTS, Principal

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Mapping

    from rolltop.core.context import AppContext
    from rolltop.core.dispatch import Answer

_DEFAULT_LIMIT: Final = 10
_MAX_LIMIT: Final = 100
_MIN_TEXT_WIDTH: Final = 40
_ALL_HINT: Final = "--all searches the tasks and pads of all projects and namespaces."
# Pads, cells and tasks are found by the first digits of an id.
_SHORT_ID: Final = re.compile(r"(\b(?:pad|cell|task) [0-9a-f]{8})[0-9a-f-]{28}\b")


class _Hit(NamedTuple):
    """What was found: where, and a line that shows what it is about."""

    kind: str
    where: str
    text: str


class _SearchTool(NamedTuple):
    """How a tool is asked, and how its answer's list is read."""

    parameter: str
    """The one that takes the words."""
    list_name: str
    read: Callable[[Mapping[str, Any]], _Hit]
    everywhere: Mapping[str, object]
    """Arguments that make it search all projects and namespaces."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words, a name or a question")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=_DEFAULT_LIMIT, help="at most so many of each"
    )
    parser.add_argument("--all", action="store_true", help="in all projects and namespaces")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what was found, the best of each toolset first; return 1 if no search succeeded.

    Returns 2 for no words.
    """
    words = " ".join(arguments.words)
    if not words.strip():
        print("rolltop search: the words are blank", file=sys.stderr)  # noqa: T201  # a complaint
        return 2
    if not 1 <= arguments.limit <= _MAX_LIMIT:
        raise InvalidArgument(
            f"--limit {arguments.limit} is out of range", hint=f"Give 1 to {_MAX_LIMIT}."
        )
    found: list[list[_Hit]] = []
    failed: dict[str, dict[str, Any]] = {}
    hints: dict[str, str] = {}
    with local_context.open_context(options.read_settings(arguments)) as context:
        for tool in _SEARCHES:
            if not context.registry.has_tools([tool]):
                continue
            given = {"limit": arguments.limit, _SEARCHES[tool].parameter: words}
            given |= _SEARCHES[tool].everywhere if arguments.all else {}
            answer = _call(context, tool, given)
            if answer.is_error:
                failed[tool] = answer.structured
            elif hint := _hint(answer.structured):
                hints[tool] = hint
            found.append(_read_hits(tool, answer))
    hits = [hit for hit in chain.from_iterable(zip_longest(*found)) if hit is not None]
    if arguments.json:
        answer = {"hits": [hit._asdict() for hit in hits], "failed": failed, "hints": hints}
        options.print_line(json.dumps(answer, ensure_ascii=False))
    else:
        _print_hits(hits, failed)
        for tool, hint in hints.items():
            options.print_line(f"{tool}: {render.printable(hint)}")
        if hints and not arguments.all:
            options.print_line(f"→ {_ALL_HINT}")
    return 1 if failed and len(failed) == len(found) else 0


def _call(app: AppContext, tool: str, given: Mapping[str, object]) -> Answer:
    registered = app.registry.find(tool, Principal.for_user(""))
    return local_context.call_tool(app, registered, given, ignore_progress)


def _read_hits(tool: str, answer: Answer) -> list[_Hit]:
    """Return what one tool found: nothing for an error."""
    search = _SEARCHES[tool]
    return [] if answer.is_error else [*map(search.read, answer.structured[search.list_name])]


def _hint(structured: Mapping[str, Any]) -> str:
    """Return what a tool says about where it searched; empty for nothing."""
    others = structured.get("other_projects")
    left_out = f"Namespaces that were not searched: {others}." if others else ""
    return structured.get("hint") or structured.get("meta", {}).get("hint") or left_out


def _print_hits(hits: list[_Hit], failed: Mapping[str, Mapping[str, Any]]) -> None:
    places = [render.printable(_SHORT_ID.sub(r"\1", hit.where)) for hit in hits]
    width = max(map(len, places), default=0)
    columns = shutil.get_terminal_size().columns
    for hit, place in zip(hits, places, strict=True):
        where = place.ljust(width)
        text = render.one_line(hit.text, max(_MIN_TEXT_WIDTH, columns - width - 2))
        options.print_line(f"{options.paint(where, options.CYAN)}  {text}".rstrip())
    if not hits:
        options.print_line("Nothing was found.")
    for tool, error in failed.items():
        for line in render.error_lines(error):
            options.print_line(f"{tool}: {line}")


def _file_hit(item: Mapping[str, Any]) -> _Hit:
    lines = f"{item['line']}-{item['end_line']}"
    return _Hit("file", f"{item['repo']}/{item['path']}:{lines}", item["preview"])


def _note_hit(item: Mapping[str, Any]) -> _Hit:
    return _Hit("note", f"note {item['id']}", item["title_prev"])


def _cell_hit(item: Mapping[str, Any]) -> _Hit:
    cell = f" cell {item['cell_id']}" if item.get("cell_id") else ""
    return _Hit("pad", f"pad {item['scratch_id']}{cell}", item["snippet"])


def _task_hit(item: Mapping[str, Any]) -> _Hit:
    return _Hit("task", f"task {item['task_id']}", f"[{item['status']}] {item['title']}")


_SEARCHES: Final = {
    "repo_smart_search": _SearchTool("query", "result", _file_hit, {}),
    "note_list": _SearchTool("q", "items", _note_hit, {}),
    "scratch_search": _SearchTool("query", "hits", _cell_hit, {"namespaces": [ALL_PROJECTS]}),
    "list_tasks": _SearchTool("q", "data", _task_hit, {"project": ALL_PROJECTS}),
}
"""Each tool that searches."""
