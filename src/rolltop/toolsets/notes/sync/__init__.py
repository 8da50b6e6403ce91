"""How two copies of one note become one: pure decisions, no storage and no network."""

from __future__ import annotations

from rolltop.toolsets.notes.sync.caution import allowance, is_harm, pause_after
from rolltop.toolsets.notes.sync.contents import (
    CONFLICT_TAG,
    conflict_copy,
    includes,
    overwrites,
    says_the_same,
)
from rolltop.toolsets.notes.sync.reconcile import Past, Verdict, reconcile, vanished

__all__ = [
    "CONFLICT_TAG",
    "Past",
    "Verdict",
    "allowance",
    "conflict_copy",
    "includes",
    "is_harm",
    "overwrites",
    "pause_after",
    "reconcile",
    "says_the_same",
    "vanished",
]
