"""Files and their lines as evidence of tasks."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.core.addresses import Address
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.evidence import EvidenceText, OutOfSight
from rolltop.workspace import PathError
from rolltop.workspace.file_stat import is_stable_state, state_of

if TYPE_CHECKING:
    from rolltop.workspace import ResolvedPath, Root, Roots

_MAX_BYTES: Final = 1 << 26


async def resolve_file(call: CallContext, address: Address, *, strictly: bool) -> EvidenceText:  # noqa: ARG001  # any file counts
    """Find a file as it is now. Raises RolltopError; OutOfSight unless a missing one is gone."""
    return await call.run_in_thread(_find_file, call.app.roots, address)


def _find_file(roots: Roots, address: Address) -> EvidenceText:
    try:
        located = roots.locate(address.path, root=address.root)
        with roots.open_regular(located) as file:
            status = file.status
    except PathError as refused:
        root = roots.find_root(address.root)
        kind = NotFound if root and _is_gone(root, address.path) else OutOfSight
        raise kind(refused.message, hint=refused.hint) from None
    if status.st_size > _MAX_BYTES:
        raise InvalidArgument(
            f"{address.path} is too large for evidence", hint="Name a smaller file."
        )
    state = state_of(status)
    return EvidenceText(
        "",
        partial(_read_file, roots, located),
        has_last_break=False,
        size=status.st_size,
        stamp=state if is_stable_state(state) else None,
    )


def _is_gone(root: Root, path: str) -> bool:
    """Report whether no file of the root is there, hidden or not, though the root itself is."""
    try:
        real = Path(os.path.realpath(root.absolute_path(path), strict=True))
        return not real.is_file() or not real.is_relative_to(os.path.realpath(root.path))
    except (FileNotFoundError, NotADirectoryError):
        with suppress(OSError), os.scandir(root.path) as listing:
            return next(listing, None) is not None  # an empty one is not mounted
    except OSError:
        pass
    return False


def _read_file(roots: Roots, located: ResolvedPath) -> bytes:
    try:
        with roots.open_regular(located) as file:
            return file.read(_MAX_BYTES)
    except (PathError, OSError):
        raise OutOfSight(f"{located.relative} cannot be read now", hint="Call again.") from None
