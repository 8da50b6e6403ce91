"""The first screen: search, where the work stands, and what was written last."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.core.principal import ALL_PROJECTS
from rolltop.core.tools import JsonObject
from rolltop.web.visit import PageRoute, Visit

_RESUME_TOKENS: Final = 8_000
_SEARCH_TOKENS: Final = 4_000
_MAX_LAST_WRITES: Final = 12


async def show_home(visit: Visit) -> Response:
    """Show the first screen."""
    project = visit.argument("project") or ALL_PROJECTS
    now: JsonObject = {}
    changes: list[JsonObject] = []
    if visit.offers("desk_resume"):
        now = await visit.call("desk_resume", project=project, max_tokens=_RESUME_TOKENS)
    if visit.offers("desk_history"):
        changes = (await visit.call("desk_history", project=project))["changes"]
    clients: dict[str, str] = {}
    for change in changes:
        clients.setdefault(change["by"], change["at"])
    return visit.render(
        "home",
        now=now,
        changes=changes[:_MAX_LAST_WRITES],
        clients=clients,
        titles=_titles(now),
    )


def _titles(now: JsonObject) -> dict[str, str]:
    """Map the addresses of all that a call of desk_resume names to their titles."""
    named: list[JsonObject] = []
    for part in now.values():
        named += part if isinstance(part, list) else ()
    named += [one for item in named for one in item.get("blocked_by", ())]
    return {one["uri"]: one["title"] for one in named if "uri" in one and "title" in one}


async def show_search(visit: Visit) -> Response:
    """Show what a search over everything finds; a script shows its results as one types."""
    q = visit.argument("q")
    search = None
    if q:
        search = await visit.call(
            "desk_search",
            query=q,
            project=ALL_PROJECTS,
            cursor=visit.argument("cursor"),
            max_tokens=_SEARCH_TOKENS,
        )
    return visit.render("search", search=search, q=q)


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/", "GET", show_home),
    ("/search", "GET", show_search),
)
