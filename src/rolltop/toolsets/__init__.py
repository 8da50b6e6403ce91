"""The toolsets: this is the only list."""

from __future__ import annotations

from typing import Final

from rolltop.core.tools import Toolset
from rolltop.toolsets.desk import TOOLSET as DESK
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.reader import TOOLSET as READER
from rolltop.toolsets.retrieval import TOOLSET as RETRIEVAL
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS

TOOLSETS: Final[tuple[Toolset, ...]] = (TASKS, SCRATCH, NOTES, RETRIEVAL, READER, DESK)
