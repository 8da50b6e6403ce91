"""All of the SQL of tasks. Every statement names the owner; every write is one conditional one.

A task in the trash keeps its row with `deleted_at` set, and its edges: a child's `parent_id` and
a blocked task's blockers are shown only while their target lives, so a deletion hides them and a
restoration brings them back without touching another row.
"""

from __future__ import annotations

from rolltop.toolsets.tasks.store import graph, reading, tables, writing

__all__ = ["graph", "reading", "tables", "writing"]
