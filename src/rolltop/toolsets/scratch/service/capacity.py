"""Room for pads: the limit of a tenant, and what goes into the trash to keep to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.errors import Invalid
from rolltop.toolsets.scratch import index
from rolltop.toolsets.scratch.store import pads, trash

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Limits, Pad


def make_room(tx: Tx, limits: Limits, reads: Mapping[str, datetime]) -> list[str]:
    """Return the ids of the pads that went into the trash so that one more has room.

    The tenant is locked already; `reads` are accesses that are not kept yet. Raises Invalid
    (CAPACITY_LIMIT_REACHED) where the policy is to refuse.
    """
    if not limits.pads:
        return []
    surplus = pads.count(tx) + 1 - limits.pads
    if surplus <= 0:
        return []
    if limits.policy == "fail":
        raise Invalid(
            f"There are {limits.pads} scratchpads, and no more are allowed",
            code="CAPACITY_LIMIT_REACHED",
            hint="scratch_delete pads that are done with; scratch_list shows them.",
        )
    pads.note_accesses(tx, reads)
    return [discard(tx, pad) for pad in trash.least_recent(tx, surplus)]


def discard(tx: Tx, pad: Pad) -> str:
    """Return the id of a pad, which is in the trash now and no longer found."""
    held = pads.hold(tx, pad.scratch_id) or pad
    index.drop_pad(tx, held)
    pads.touch(tx, held, deleted=True)
    return pad.scratch_id


def sweep(tx: Tx, age: timedelta, reads: Mapping[str, datetime]) -> list[str]:
    """Return the ids of the caller's pads that were idle for longer and went into the trash."""
    pads.lock_tenant(tx)
    pads.note_accesses(tx, reads)
    idle = trash.least_recent(tx, pads.count(tx), before=tx.now - age)
    return [discard(tx, pad) for pad in idle]
