"""What the retrieval tools answer."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core.arguments import shown
from rolltop.core.errors import Invalid
from rolltop.core.roots import is_sendable
from rolltop.core.toolset import Contents
from rolltop.toolsets.retrieval.service.answers import Clock
from rolltop.toolsets.retrieval.service.directories import directory
from rolltop.toolsets.retrieval.service.ranking import Ranked, ranked_page
from rolltop.toolsets.retrieval.service.searching import Asked, exact_page
from rolltop.toolsets.retrieval.service.texts import Wanted, file_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.budget import Page, Text
    from rolltop.core.call import Call
    from rolltop.core.roots import Root, Roots
    from rolltop.toolsets.retrieval.models import Query

__all__ = [
    "Ranked",
    "Wanted",
    "completions",
    "list_directory",
    "read_text",
    "resource_contents",
    "search",
    "smart_search",
]

_MOST_COMPLETED: Final = 100
_MOST_WALKED: Final = 5_000
_LINES: Final = re.compile(r"L?(\d{1,18})(?:-L?(\d{1,18}))?")


async def search(call: Call, query: Query, repo: str | None, limit: int) -> Page:
    """Return the lines that match (see `searching.exact_page`)."""
    asked = Asked(limit, call.cursor, call.budget)
    return await call.work(exact_page, call.desk, Clock(), query, repo, asked)


async def smart_search(call: Call, ranked: Ranked, repo: str | None, limit: int) -> Page:
    """Return the places that answer best (see `ranking.ranked_page`)."""
    asked = Asked(limit, call.cursor, call.budget)
    return await call.work(ranked_page, call.desk, Clock(), ranked, repo, asked)


async def read_text(call: Call, wanted: Wanted) -> Text:
    """Return the lines of a file that are asked for (see `texts.file_text`)."""
    return await call.work(file_text, call.desk, Clock(), wanted, call.budget)


async def list_directory(call: Call, repo: str | None, path: str | None, depth: int) -> Page:
    """Return what lies in a directory (see `directories.directory`)."""
    place = repo, path, depth
    return await call.work(directory, call.desk, Clock(), place, call.cursor, call.budget)


async def resource_contents(call: Call, repo: str, path: str, lines: str) -> Contents:
    """Return a file's text, or that of the lines `10` or `10-20` (each may start with L).

    As much of it as the budget may hold.

    Raises:
        RolltopError: of the file; RANGE_INVALID.

    """
    found = _LINES.fullmatch(lines) if lines else None
    if lines and found is None:
        raise Invalid(
            f"The lines {shown(lines)} are no range",
            code="RANGE_INVALID",
            hint="Name them after the path as #L10 or #L10-L20.",
        )
    first = int(found[1]) if found else None
    last = int(found[2] or found[1]) if found else None
    text = await read_text(call, Wanted(repo, path, first, last))
    return Contents(text.text, text.more)


async def completions(
    call: Call, variable: str, prefix: str, context: Mapping[str, str]
) -> list[str]:
    """Return the values of a file's repo or path that begin so, in order."""
    roots = call.desk.roots
    if variable == "repo":
        return [root.name for root in roots.named if root.name.startswith(prefix)]
    root = roots.root(context.get("repo", ""))
    if root is None or variable != "path":
        return []
    return await call.work(_paths, roots, root, prefix)


def _paths(roots: Roots, root: Root, prefix: str) -> list[str]:
    """Return a root's files whose path begins so, of the first few thousand in its folder."""
    files = islice(roots.walk(root, under=prefix.rpartition("/")[0]), _MOST_WALKED)
    found = (entry.relative for entry in files if entry.relative.startswith(prefix))
    return list(islice(filter(is_sendable, found), _MOST_COMPLETED))
