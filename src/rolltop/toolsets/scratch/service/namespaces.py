"""Namespaces: registered before use, renamed and deleted with what is in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.errors import NotFound
from rolltop.toolsets.scratch import index
from rolltop.toolsets.scratch.service import places
from rolltop.toolsets.scratch.service.capacity import discard
from rolltop.toolsets.scratch.service.checks import wrong
from rolltop.toolsets.scratch.store import names, pads

if TYPE_CHECKING:
    from datetime import datetime

    from rolltop.core.db import Tx


def page(
    tx: Tx, after: tuple[datetime, str] | None, limit: int
) -> tuple[list[tuple[str, int, datetime]], bool]:
    """Return namespaces with their number of pads and age, oldest first, and if others follow.

    They come after the one that was made at that moment and is told by its `places.name_id`; where
    it is gone, after all that were made before.
    """
    place = None
    if after is not None:
        then = (name for name in names.made_at(tx, after[0]) if places.name_id(name) == after[1])
        place = (after[0], next(then, ""))
    found = names.namespaces_after(tx, place, limit + 1)
    return found[:limit], len(found) > limit


def create(tx: Tx, namespace: str) -> bool:
    """Whether the namespace is new."""
    return names.register(tx, namespace)


def rename(tx: Tx, old: str, new: str, *, migrate: bool) -> int:
    """Return how many pads moved to the new name.

    Raises NotFound for an unknown old name, Invalid for a taken new one, or where there are pads
    that are not to move.
    """
    pads.lock_tenant(tx)
    if not names.is_registered(tx, old):
        raise NotFound(
            f"There is no namespace {old}",
            hint="scratch_namespace with action list shows them.",
        )
    if old == new:
        return 0
    if names.is_registered(tx, new):
        raise wrong(f"The namespace {new} exists", "Choose another name, or move pads by update.")
    inside = names.pads_in(tx, old)
    if inside and not migrate:
        raise wrong(
            f"{len(inside)} scratchpads are in {old}", "Send migrate_scratchpads true to move them."
        )
    names.rename(tx, old, new)
    for pad in names.pads_in(tx, new):
        index.refilter(tx, pad)
    return len(inside)


def delete(tx: Tx, namespace: str, *, with_pads: bool) -> tuple[bool, int]:
    """Return whether there was such a namespace, and how many of its pads went to the trash.

    Raises Invalid where it is in use and its pads are not to go.
    """
    pads.lock_tenant(tx)
    inside = names.pads_in(tx, namespace)
    if inside and not with_pads:
        raise wrong(
            f"{len(inside)} scratchpads are in {namespace}",
            "Send delete_scratchpads true to put them into the trash as well.",
        )
    for pad in inside:
        discard(tx, pad)
    return names.unregister(tx, namespace), len(inside)
