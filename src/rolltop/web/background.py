"""What the desk knows of a thing beside its text: its changes and its links."""

from __future__ import annotations

from rolltop.core.tools import JsonObject
from rolltop.web.visit import Visit


async def read_background(visit: Visit, uri: str) -> JsonObject:
    """Return for a thing's page its newest `changes`, the cursor of `older` ones, and `links`.

    There are none where the desk is left out.
    """
    page: JsonObject = {"changes": []}
    if visit.offers("desk_history"):
        page = await visit.call("desk_history", uri=uri)
    links = await read_links(visit, uri)
    return {"changes": page["changes"], "older": page.get("next_cursor"), "links": links}


async def read_links(visit: Visit, uri: str) -> list[JsonObject]:
    """List the links of a thing; nothing where the desk is left out."""
    if not visit.offers("desk_read"):
        return []
    return (await visit.call("desk_read", uri=uri)).get("links", [])
