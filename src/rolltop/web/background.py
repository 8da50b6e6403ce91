"""What the desk knows of a thing beside its text: its changes and its links."""

from __future__ import annotations

from typing import Final

from rolltop.core.tools import JsonObject
from rolltop.web.visit import ToolFailure, Visit

_LINKS_TOKENS: Final = 2_000


async def read_background(visit: Visit, uri: str) -> JsonObject:
    """Return a thing's `changes` and `links` for its page; none where the desk is left out."""
    found: JsonObject = {"changes": [], "links": []}
    if visit.offers("desk_history"):
        found["changes"] = (await visit.call("desk_history", uri=uri))["changes"]
    if visit.offers("desk_read"):
        try:
            opened = await visit.call("desk_read", uri=uri, max_tokens=_LINKS_TOKENS)
        except ToolFailure:
            return found  # too little room for the thing itself: its page has it
        found["links"] = opened.get("links", [])
    return found
