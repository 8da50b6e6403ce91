"""What the desk knows of a thing beside its text: its changes and its links."""

from __future__ import annotations

from rolltop.core.tools import JsonObject
from rolltop.web.visit import Visit


async def read_background(visit: Visit, uri: str) -> JsonObject:
    """Return a thing's `changes` and `links` for its page; none where the desk is left out."""
    found: JsonObject = {"changes": [], "links": []}
    if visit.offers("desk_history"):
        found["changes"] = (await visit.call("desk_history", uri=uri))["changes"]
    if visit.offers("desk_read"):
        found["links"] = (await visit.call("desk_read", uri=uri)).get("links", [])
    return found
