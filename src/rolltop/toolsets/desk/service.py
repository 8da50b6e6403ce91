"""Reading whatever is at an address.

The desk uses of other toolsets what they publish: the functions of their tools, and their services.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rolltop.core.addresses import parse_address
from rolltop.core.arguments import require_storable
from rolltop.core.errors import InvalidArgument, InvalidConfig, InvalidText, NotFound
from rolltop.core.pagination import BudgetTooSmall
from rolltop.toolsets.desk.files import open_file, open_section
from rolltop.toolsets.desk.records import open_cell, open_note, open_pad, open_task

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from rolltop.core.addresses import Address, Kind
    from rolltop.core.context import AppContext, CallContext
    from rolltop.toolsets.desk.models import JsonObject
    from rolltop.toolsets.desk.opened import Opened

    Opener = Callable[[CallContext, Address], Awaitable[Opened]]

_OPENERS: Final[Mapping[Kind, tuple[str, Opener]]] = {
    "note": ("notes", open_note),
    "pad": ("scratch", open_pad),
    "cell": ("scratch", open_cell),
    "task": ("tasks", open_task),
    "file": ("retrieval", open_file),
    "section": ("reader", open_section),
}
"""For each kind of address the toolset whose it is, and what opens it."""


class DeskService:
    """Opens addresses of all kinds; all of its state is the toolsets' own."""

    def __init__(self, app: AppContext) -> None:
        """Open nothing yet."""
        self._app: Final = app

    async def read(self, call: CallContext, uri: str) -> JsonObject:
        """Answer desk_read.

        Raises:
            InvalidArgument: the text is no address, or the beginning of several ids.
            NotFound: nothing is there, or it is another user's.

        """
        address = parse_address(require_storable(uri, "uri"))
        toolset, open_address = _OPENERS[address.kind]
        if toolset not in {each.name for each in self._app.registry.toolsets}:
            raise NotFound(
                f"Addresses of a {address.kind} are not opened here",
                hint=f"This server is set to leave out the toolset {toolset}.",
            )
        try:
            opened = await open_address(call, address)
        except (NotFound, InvalidConfig) as missing:
            raise NotFound(missing.message, hint=missing.hint, data=_details(missing)) from None
        except (InvalidText, BudgetTooSmall):
            raise
        except InvalidArgument as refused:
            raise InvalidArgument(
                refused.message, hint=refused.hint, data=_details(refused)
            ) from None
        return opened.answer(call)


def _details(error: NotFound | InvalidConfig | InvalidArgument) -> dict[str, Any]:
    """Return what an error says beside its texts, of these shapes: names and suggestions."""
    shown = ("nearest", "suggestions", "candidates")
    return {name: error.data[name] for name in shown if name in error.data}
