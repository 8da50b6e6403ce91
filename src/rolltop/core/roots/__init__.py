"""Named roots: which directories may be read, which of their files, and how a path finds one.

Retrieval and reader share it. `Roots` confines paths by comparing real paths, and chooses files
by git's own rules without running git.
"""

from __future__ import annotations

from rolltop.core.roots.confine import Located, Root, Roots
from rolltop.core.roots.entries import Marks, count_before, differences, holds
from rolltop.core.roots.names import is_sendable
from rolltop.core.roots.opening import is_binary
from rolltop.core.roots.problems import PathCode, PathProblem, RootProblem, RootReason
from rolltop.core.roots.walk import Entry, Folder, Listed, Skipped

__all__ = [
    "Entry",
    "Folder",
    "Listed",
    "Located",
    "Marks",
    "PathCode",
    "PathProblem",
    "Root",
    "RootProblem",
    "RootReason",
    "Roots",
    "Skipped",
    "count_before",
    "differences",
    "holds",
    "is_binary",
    "is_sendable",
]
