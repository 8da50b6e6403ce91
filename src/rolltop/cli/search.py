"""`rolltop search`: one question to all toolsets that search, answered in one list."""

from __future__ import annotations

import json
import re
import shutil
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rolltop.cli import local_context, options, render
from rolltop.core.context import ignore_progress
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import Principal

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from rolltop.core.context import AppContext

_DEFAULT_LIMIT: Final = 10
_MAX_LIMIT: Final = 100
_MIN_TEXT_WIDTH: Final = 40
# Pads, cells and tasks are found by the first digits of an id.
_SHORT_ID: Final = re.compile(r"(\b(?:pad|cell|task) [0-9a-f]{8})[0-9a-f-]{28}\b")


class _Hit(NamedTuple):
    """What was found: where, and a line that shows what it is about."""

    kind: str
    where: str
    text: str


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words, a name or a question")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=_DEFAULT_LIMIT, help="at most so many of each"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what was found, the best of each toolset first; return 1 if no search succeeded."""
    if not 1 <= arguments.limit <= _MAX_LIMIT:
        raise InvalidArgument(
            f"--limit {arguments.limit} is out of range", hint=f"Give 1 to {_MAX_LIMIT}."
        )
    found: list[list[_Hit]] = []
    failed: dict[str, dict[str, Any]] = {}
    with local_context.open_context(options.read_settings(arguments)) as context:
        for tool in _SEARCHES:
            if not context.registry.has_tools([tool]):
                continue
            hits, error = _search(context, tool, " ".join(arguments.words), arguments.limit)
            found.append(hits)
            failed |= {tool: error} if error else {}
    hits = [hit for hit in chain.from_iterable(zip_longest(*found)) if hit is not None]
    if arguments.json:
        answer = {"hits": [hit._asdict() for hit in hits], "failed": failed}
        options.print_line(json.dumps(answer, ensure_ascii=False))
    else:
        _print_hits(hits, failed)
    return 1 if failed and len(failed) == len(found) else 0


def _search(
    app: AppContext, tool: str, text: str, limit: int
) -> tuple[list[_Hit], dict[str, Any] | None]:
    """Return what one tool finds, or its error."""
    parameter, list_name, read = _SEARCHES[tool]
    registered = app.registry.find(tool, Principal.for_user(""))
    given = {parameter: text, "limit": limit}
    answer = local_context.call_tool(app, registered, given, ignore_progress)
    if answer.is_error:
        return [], answer.structured
    return [read(item) for item in answer.structured[list_name]], None


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
    "repo_smart_search": ("query", "result", _file_hit),
    "note_list": ("q", "items", _note_hit),
    "scratch_search": ("query", "hits", _cell_hit),
    "list_tasks": ("q", "data", _task_hit),
}
"""Each tool that searches, with the parameter that takes the words, and how its list is read."""
