"""What was deleted and can be brought back."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument
from rolltop.core.tools import JsonObject
from rolltop.toolsets.scratch import TOOLSET
from rolltop.toolsets.scratch.service.scratch_service import ScratchService
from rolltop.toolsets.tasks.store import overview
from rolltop.web.visit import PageFailure, PageRoute, Visit, parse_number

_MAX_SHOWN: Final = 100


async def show_trash(visit: Visit) -> Response:
    """Show deleted tasks, notes and pads, with what brings each back."""
    tasks = notes = pads = None
    start = parse_number(visit.argument("tasks")) or 0
    if visit.offers("list_tasks"):
        tasks = await visit.read(overview.list_trash, start, _MAX_SHOWN + 1)
    if visit.offers("note_list"):
        notes = await visit.call(
            "note_list", trash_s=1, limit=_MAX_SHOWN, cursor=visit.argument("cursor")
        )
    if visit.offers("scratch_list"):
        pads = await _list_pads(visit)
    return visit.render(
        "trash", tasks=tasks, end=start + _MAX_SHOWN, size=_MAX_SHOWN, notes=notes, pads=pads
    )


async def _list_pads(visit: Visit) -> JsonObject:
    """List the deleted pads, as scratch_restore does for those who may bring them back."""
    call = CallContext(
        visit.app, visit.principal, "scratch_restore", 0, visit.argument("pads") or None
    )
    service: ScratchService = visit.app.load_service(TOOLSET.service)
    try:
        page = await service.list_trash(call)
    except InvalidArgument as refused:
        raise PageFailure(400, refused.message, refused.hint) from None
    return {
        **page.render(page.size),
        "next_cursor": page.has_more and page.cursor_after(page.size - 1),
    }


ROUTES: Final[tuple[PageRoute, ...]] = (("/trash", "GET", show_trash),)
