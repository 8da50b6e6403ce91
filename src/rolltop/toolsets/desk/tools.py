"""The tools of the desk: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core.context import CallContext
from rolltop.core.tools import Tool
from rolltop.toolsets.desk.models import AddressAnswer

if TYPE_CHECKING:
    from rolltop.toolsets.desk.service import DeskService

SERVICE: Final = "rolltop.toolsets.desk.service:DeskService"


async def desk_read(
    call: CallContext,
    uri: Annotated[str, Field(description="rolltop://note/1a2b3c4d#L5-9")],
) -> dict[str, Any]:
    """Open any rolltop:// address that an answer shows as uri."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.read(call, uri)


TOOLS: Final = (
    Tool(
        "desk_read",
        desk_read,
        "Open an address",
        AddressAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        is_core=True,
    ),
)
