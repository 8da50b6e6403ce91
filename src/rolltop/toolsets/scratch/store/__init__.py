"""All of the SQL of scratch. Every statement names the owner, on every table it touches.

A pad in the trash keeps its rows with `deleted_at` set; nothing else of it changes.
"""

from __future__ import annotations

from rolltop.toolsets.scratch.store import cells, names, pads, tables, trash

__all__ = ["cells", "names", "pads", "tables", "trash"]
