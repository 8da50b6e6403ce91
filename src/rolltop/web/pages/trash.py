"""What was deleted and can be brought back."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.toolsets.tasks.store import overview
from rolltop.web.visit import PageRoute, Visit, parse_number

_MAX_SHOWN: Final = 100


async def show_trash(visit: Visit) -> Response:
    """Show deleted tasks, notes and pads, with what brings each back."""
    tasks = notes = pads = None
    start = parse_number(visit.argument("tasks")) or 0
    if visit.offers("restore_task"):
        tasks = await visit.read(overview.list_trash, start, _MAX_SHOWN + 1)
    if visit.offers("note_list"):
        notes = await visit.call(
            "note_list", trash_s=1, limit=_MAX_SHOWN, cursor=visit.argument("cursor")
        )
    if visit.offers("scratch_restore"):
        pads = await visit.call("scratch_restore", cursor=visit.argument("pads"))
    return visit.render(
        "trash", tasks=tasks, end=start + _MAX_SHOWN, size=_MAX_SHOWN, notes=notes, pads=pads
    )


ROUTES: Final[tuple[PageRoute, ...]] = (("/trash", "GET", show_trash),)
