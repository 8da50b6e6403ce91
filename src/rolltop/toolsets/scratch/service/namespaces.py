"""Namespaces renamed and deleted with the pads in them."""

from __future__ import annotations

from rolltop.core.accounts import lock_owner
from rolltop.core.db import Tx
from rolltop.core.errors import NotFound
from rolltop.toolsets.scratch.service.cell_input import invalid_value, name
from rolltop.toolsets.scratch.service.pads import delete_pad, update_filters
from rolltop.toolsets.scratch.store import pad_rows


def rename_namespace(tx: Tx, old: str, new: str, *, migrate: bool) -> int:
    """Rename a namespace; return how many pads moved.

    Raises NotFound for an unknown old name, InvalidArgument for a taken new one, or if there are
    pads and `migrate` is False.
    """
    lock_owner(tx)
    if not pad_rows.is_registered(tx, old):
        raise NotFound(
            f"There is no namespace {old}",
            hint="scratch_namespace with action list shows them.",
        )
    if old == new:
        return 0
    if pad_rows.is_registered(tx, new):
        raise invalid_value(
            f"The namespace {new} exists", "Choose another name, or move pads by update."
        )
    inside = pad_rows.pads_in(tx, old)
    if inside and not migrate:
        raise invalid_value(
            f"{len(inside)} scratchpads are in {old}", "Send migrate_scratchpads true to move them."
        )
    pad_rows.rename_namespace(tx, old, new)
    for pad in pad_rows.pads_in(tx, new):
        update_filters(tx, pad)
    return len(inside)


def delete_namespace(tx: Tx, namespace: str, *, with_pads: bool) -> tuple[bool, int]:
    """Delete a namespace; return whether it existed, and how many pads went to the trash.

    Raises InvalidArgument if it is in use and `with_pads` is False.
    """
    lock_owner(tx)
    inside = pad_rows.pads_in(tx, namespace)
    if inside and not with_pads:
        raise invalid_value(
            f"{len(inside)} scratchpads are in {namespace}",
            "Send delete_scratchpads true to put them into the trash as well.",
        )
    for pad in inside:
        delete_pad(tx, pad.scratch_id)
    return pad_rows.unregister_namespace(tx, namespace), len(inside)


def require_name(given: str | None, what: str) -> str:
    """Trim the name of a namespace. Raises InvalidArgument if there is none."""
    if given is None:
        raise invalid_value(f"{what} is required", f"Retry with {what}.")
    return name(given, what)
