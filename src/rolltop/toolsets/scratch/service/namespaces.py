"""Namespaces: registered before use, renamed and deleted with the pads in them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import NotFound
from rolltop.core.pagination import Page, format_timestamp
from rolltop.toolsets.scratch.models import MAX_PAGE_SIZE, JsonObject
from rolltop.toolsets.scratch.service.cell_input import invalid_value, name
from rolltop.toolsets.scratch.service.cursors import name_id, parse_time_cursor, time_cursor
from rolltop.toolsets.scratch.service.pads import delete_pad, update_filters
from rolltop.toolsets.scratch.store import pad_rows


class Namespaces:
    """What the tool for namespaces does."""

    def __init__(self, app: AppContext) -> None:
        """Keep nothing between calls."""

    async def change(
        self,
        call: CallContext,
        action: Literal["create", "delete"],
        namespace: str | None,
        *,
        with_pads: bool,
    ) -> JsonObject:
        """Create or delete a namespace."""
        named = _require_name(namespace, "namespace")
        if action == "create":
            created = await call.write(pad_rows.register_namespace, named)
            return {"ok": True, "namespace": named, "created": created}
        deleted, removed = await call.write(delete_namespace, named, with_pads=with_pads)
        outcome = {"deleted": deleted, "removed_scratchpads": removed}
        return {"ok": True, "namespace": named, **outcome}

    async def rename(
        self, call: CallContext, old: str | None, new: str | None, *, migrate: bool
    ) -> JsonObject:
        """Rename a namespace."""
        before = _require_name(old, "old_namespace")
        after = _require_name(new, "new_namespace")
        moved = await call.write(rename_namespace, before, after, migrate=migrate)
        return {"ok": True, "namespace": after, "migrated_count": moved}

    async def list(self, call: CallContext) -> Page:
        """List namespaces."""
        kind = "namespaces"
        after = parse_time_cursor(kind, call.cursor)
        found, more = await call.read(list_namespaces, after, MAX_PAGE_SIZE)
        items = [
            {"namespace": named, "scratchpad_count": used, "created_at": format_timestamp(created)}
            for named, used, created in found
        ]
        return Page(
            items,
            lambda some: {"ok": True, "namespaces": some},
            lambda at: time_cursor(kind, found[at][2], name_id(found[at][0])),
            more,
        )


def list_namespaces(
    tx: Tx, after: tuple[datetime, str] | None, limit: int
) -> tuple[list[tuple[str, int, datetime]], bool]:
    """List namespaces with their number of pads and age, oldest first, and if others follow.

    `after` is the age and the `name_id` of the last one listed; where that is gone, its age counts.
    """
    position = None
    if after is not None:
        names = pad_rows.namespaces_created_at(tx, after[0])
        position = (after[0], next((one for one in names if name_id(one) == after[1]), ""))
    found = pad_rows.list_namespaces(tx, position, limit + 1)
    return found[:limit], len(found) > limit


def rename_namespace(tx: Tx, old: str, new: str, *, migrate: bool) -> int:
    """Rename a namespace; return how many pads moved.

    Raises NotFound for an unknown old name, InvalidArgument for a taken new one, or if there are
    pads and `migrate` is False.
    """
    pad_rows.lock_tenant(tx)
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
    pad_rows.lock_tenant(tx)
    inside = pad_rows.pads_in(tx, namespace)
    if inside and not with_pads:
        raise invalid_value(
            f"{len(inside)} scratchpads are in {namespace}",
            "Send delete_scratchpads true to put them into the trash as well.",
        )
    for pad in inside:
        delete_pad(tx, pad.scratch_id)
    return pad_rows.unregister_namespace(tx, namespace), len(inside)


def _require_name(given: str | None, what: str) -> str:
    if given is None:
        raise invalid_value(f"{what} is required", f"Retry with {what}.")
    return name(given, what)
