"""`rolltop search`: the desk's own search, one line for each hit."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.cli import local_context, options, render
from rolltop.cli.lazy_modules import asyncio, desk_search, excerpts
from rolltop.core.addresses import parse_address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import ALL_PROJECTS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from rolltop.core.fulltext.documents import FoundText

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


class _Outcome(NamedTuple):
    """What a search found, best first; why kinds were not searched; where there may be more."""

    hits: list[_Hit]
    failed: Mapping[str, str]
    hints: list[str]


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("words", metavar="WORDS", nargs="+", help="words, a name or a question")
    parser.add_argument(
        "--limit", metavar="N", type=int, default=_DEFAULT_LIMIT, help="at most so many"
    )
    parser.add_argument("--all", action="store_true", help="in all projects and namespaces")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_identity(parser)
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what was found, best first; return 2 for no words. Raises RolltopError."""
    words = " ".join(arguments.words)
    if not words.strip():
        print("rolltop search: the words are blank", file=sys.stderr)  # noqa: T201  # a complaint
        return 2
    if not 1 <= arguments.limit <= _MAX_LIMIT:
        raise InvalidArgument(
            f"--limit {arguments.limit} is out of range", hint=f"Give 1 to {_MAX_LIMIT}."
        )
    with local_context.open_context(options.read_settings(arguments)) as context:
        call = CallContext(context, local_context.local_principal(context), "desk_search", 0)
        project = ALL_PROJECTS if arguments.all else None
        found = asyncio.run(_search(call, words, project, arguments.limit))
    if arguments.json:
        hits = [hit._asdict() for hit in found.hits]
        answer = {"hits": hits, "failed": found.failed, "hints": found.hints}
        options.print_line(json.dumps(answer, ensure_ascii=False))
    else:
        _print_hits(found)
    return 0


async def _search(call: CallContext, words: str, project: str | None, limit: int) -> _Outcome:
    """Ask the desk's own search for at most `limit` hits. Raises RolltopError."""
    query = desk_search.SearchRequest(words, None, project, None, None, None).parse(call.app)
    query = replace(query, limit=max(limit, query.limit))
    found = await desk_search.rank(call, query)
    hints: list[str] = []
    if not found.texts and (near := (await desk_search.nearest_word(call, query)).get("nearest")):
        hints.append(f"Did you mean {near}?")
    if project is None:
        wider = replace(query, kinds=query.kinds - {"file"}, project=ALL_PROJECTS)
        seen = {one.found.ref for one in found.texts}
        others = await desk_search.rank(call, wider)
        if any(one.found.ref not in seen for one in others.texts):
            hints.append(f"Other projects have more. {_ALL_HINT}")
    return _Outcome(
        [_hit(one.found, query.words) for one in found.texts[:limit]], found.unsearched, hints
    )


def _hit(found: FoundText, words: str) -> _Hit:
    title = found.title.strip()
    lines = excerpts.Excerpts(found.text, words).select_lines(excerpts.SIZES[-1])
    text = lines if title in lines else f"{title}: {lines}" if lines else title
    if found.ref:
        return _Hit(found.kind, f"{found.kind} {found.ref}", text)
    address = parse_address(found.uri)
    place = ":{}-{}".format(*address.lines) if address.lines else ""
    return _Hit(found.kind, f"{address.root}/{address.path}{place}", text)


def _print_hits(found: _Outcome) -> None:
    places = [render.printable(_SHORT_ID.sub(r"\1", hit.where)) for hit in found.hits]
    width = max(map(len, places), default=0)
    columns = shutil.get_terminal_size().columns
    for hit, place in zip(found.hits, places, strict=True):
        where = place.ljust(width)
        text = render.one_line(hit.text, max(_MIN_TEXT_WIDTH, columns - width - 2))
        options.print_line(f"{options.paint(where, options.CYAN)}  {text}".rstrip())
    if not found.hits:
        options.print_line("Nothing was found.")
    for kind, why in sorted(found.failed.items()):
        options.print_line(f"{kind}: {render.printable(why)}")
    for hint in found.hints:
        options.print_line(f"→ {render.printable(hint)}")
