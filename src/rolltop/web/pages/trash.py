"""What was deleted and can be brought back."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.toolsets.tasks.store import overview
from rolltop.web.visit import PageRoute, Visit

_MAX_SHOWN: Final = 100


async def show_trash(visit: Visit) -> Response:
    """Show deleted tasks, notes and pads, with what brings each back."""
    tasks = notes = pads = None
    if visit.offers("restore_task"):
        tasks = await visit.read(overview.list_trash, _MAX_SHOWN)
    if visit.offers("note_list"):
        page = await visit.call(
            "note_list", trash_s=1, limit=_MAX_SHOWN, cursor=visit.argument("cursor")
        )
        notes = page
    if visit.offers("scratch_restore"):
        pads = (await visit.call("scratch_restore"))["scratchpads"]
    return visit.render("trash", tasks=tasks, notes=notes, pads=pads)


ROUTES: Final[tuple[PageRoute, ...]] = (("/trash", "GET", show_trash),)
