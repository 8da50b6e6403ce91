"""Whatever is at an address of ours (`rolltop://…`)."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from rolltop.core.tools import JsonObject
from rolltop.web.colours import colour
from rolltop.web.visit import PageRoute, Visit


async def show_address(visit: Visit) -> Response:
    """Show what is there now."""
    return await show_opened(visit, await visit.call("desk_read", uri=visit.argument("uri")))


async def show_opened(visit: Visit, opened: JsonObject) -> Response:
    """Show what desk_read answered."""
    cell = {"cell_id": "", "language": opened.get("language"), "content": opened.get("text")}
    cells = [cell] if opened["kind"] == "cell" and "text" in opened else []
    lines = (await colour(visit, cells)).get("")
    return visit.render("address", opened=opened, lines=lines)


ROUTES: Final[tuple[PageRoute, ...]] = (("/open", "GET", show_address),)
