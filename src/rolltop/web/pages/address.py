"""Whatever is at an address of ours (`rolltop://…`)."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.web.visit import PageRoute, Visit


async def show_address(visit: Visit) -> Response:
    """Show what is there now."""
    opened = await visit.call("desk_read", uri=visit.argument("uri"))
    return visit.render("address", opened=opened)


ROUTES: Final[tuple[PageRoute, ...]] = (("/open", "GET", show_address),)
