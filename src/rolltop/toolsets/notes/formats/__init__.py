"""Notes as files: Simplenote's own export, and a folder of Markdown files with front matter.

Each format turns bytes into portable notes and back; what it gives back equals what it got.
"""

from __future__ import annotations

from rolltop.toolsets.notes.formats import markdown, simplenote
from rolltop.toolsets.notes.formats.portable import NotReadable, Portable

__all__ = ["NotReadable", "Portable", "markdown", "simplenote"]
