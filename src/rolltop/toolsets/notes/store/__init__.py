"""All of the SQL of notes. Every statement names the owner and the account."""

from __future__ import annotations

from rolltop.toolsets.notes.store import accounts, listing, reading, tables, versions, writing

__all__ = ["accounts", "listing", "reading", "tables", "versions", "writing"]
