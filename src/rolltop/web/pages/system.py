"""How the server is set and whether all is in order: for who runs it."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from starlette.responses import Response

from rolltop import health
from rolltop.web.visit import PageFailure, PageRoute, Visit


def _require_operator(visit: Visit) -> None:
    """Raise PageFailure for whom a token of the store let in: settings name others' things."""
    if not visit.is_operator:
        raise PageFailure(403, "Who runs this server sees that, by `rolltop config` and `doctor`")


async def show_settings(visit: Visit) -> Response:
    """Show every setting with its value and where that came from; secrets are hidden."""
    _require_operator(visit)
    settings = visit.app.settings
    keys = sorted(settings, key=lambda key: (key.rpartition(".")[0], key))
    sections = groupby(keys, key=lambda key: key.rpartition(".")[0])
    return visit.render(
        "settings",
        sections=[(name or "general", list(some)) for name, some in sections],
        settings=settings,
    )


async def show_health(visit: Visit) -> Response:
    """Show what `rolltop doctor` would, of this server."""
    _require_operator(visit)
    found = await visit.run_in_thread(lambda: list(health.run_checks(visit.app)))
    return visit.render("doctor", found=found)


ROUTES: Final[tuple[PageRoute, ...]] = (
    ("/settings", "GET", show_settings),
    ("/doctor", "GET", show_health),
)
