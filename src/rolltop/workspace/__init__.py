"""Named roots: which directories may be read, which of their files, and how a path finds one.

Retrieval and reader share it. `Roots` confines paths by comparing real paths, and chooses files
by git's own rules without running git.
"""

from __future__ import annotations

from rolltop.workspace.errors import PathCode, PathError, RootError, RootReason
from rolltop.workspace.file_stat import FileStat
from rolltop.workspace.project import find_project
from rolltop.workspace.safe_open import is_binary
from rolltop.workspace.sandbox import ResolvedPath, Root, Roots, is_uri_safe, is_utf8_path
from rolltop.workspace.walk import DirectoryEntry, SkippedEntries

__all__ = [
    "DirectoryEntry",
    "FileStat",
    "PathCode",
    "PathError",
    "ResolvedPath",
    "Root",
    "RootError",
    "RootReason",
    "Roots",
    "SkippedEntries",
    "find_project",
    "is_binary",
    "is_uri_safe",
    "is_utf8_path",
]
