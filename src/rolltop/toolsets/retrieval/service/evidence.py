"""Files and their lines as evidence of tasks."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

from rolltop.core.addresses import Address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound

if TYPE_CHECKING:
    from rolltop.workspace import Roots

_MAX_BYTES: Final = 1 << 26


async def resolve_file(call: CallContext, address: Address, *, strictly: bool) -> tuple[str, str]:  # noqa: ARG001  # any file counts
    """Return the hash of a file or of its lines as they are now. Raises RolltopError."""
    return "", await call.run_in_thread(_hash_file, call.app.roots, address)


def _hash_file(roots: Roots, address: Address) -> str:
    if roots.find_root(address.root) is None:
        names = ", ".join(root.name for root in roots.named) or "none"
        raise NotFound(f"There is no root {address.root}", hint=f"The roots are: {names}.")
    with roots.open_regular(roots.locate(address.path, root=address.root)) as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise InvalidArgument(
            f"{address.path} is too large for evidence", hint="Name a smaller file."
        )
    if address.lines is not None:
        first, last = address.lines
        lines = data.split(b"\n")
        total = len(lines) - (lines[-1] == b"")
        if last > total:
            raise NotFound(f"there are only {total} lines", hint="Name lines that are there.")
        data = b"\n".join(lines[first - 1 : last])
    return hashlib.sha256(data).hexdigest()
