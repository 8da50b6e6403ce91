"""Files and their lines as evidence of tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.addresses import Address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.evidence import EvidenceText

if TYPE_CHECKING:
    from rolltop.workspace import Roots

_MAX_BYTES: Final = 1 << 26


async def resolve_file(call: CallContext, address: Address, *, strictly: bool) -> EvidenceText:  # noqa: ARG001  # any file counts
    """Read a file as it is now. Raises RolltopError."""
    data = await call.run_in_thread(_read_file, call.app.roots, address)
    return EvidenceText("", data, has_last_break=False)


def _read_file(roots: Roots, address: Address) -> bytes:
    if roots.find_root(address.root) is None:
        names = ", ".join(root.name for root in roots.named) or "none"
        raise NotFound(f"There is no root {address.root}", hint=f"The roots are: {names}.")
    with roots.open_regular(roots.locate(address.path, root=address.root)) as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InvalidArgument(
            f"{address.path} is too large for evidence", hint="Name a smaller file."
        )
    return data
