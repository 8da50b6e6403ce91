"""What the desk knows of a thing beside its text: its changes and its links."""

from __future__ import annotations

from rolltop.core.tools import JsonObject
from rolltop.web.visit import Visit


async def read_background(visit: Visit, uri: str) -> JsonObject:
    """Return a thing's `changes` and `links` for its page; none where the desk is left out."""
    changes: list[JsonObject] = []
    if visit.offers("desk_history"):
        changes = (await visit.call("desk_history", uri=uri))["changes"]
    return {"changes": changes, "links": await read_links(visit, uri)}


async def read_links(visit: Visit, uri: str) -> list[JsonObject]:
    """List the links of a thing; nothing where the desk is left out."""
    if not visit.offers("desk_read"):
        return []
    return (await visit.call("desk_read", uri=uri)).get("links", [])
