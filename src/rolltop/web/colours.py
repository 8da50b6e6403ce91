"""Colours of cells, from a process that can be killed; what it does not answer for is plain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup

from rolltop.core.context import AppContext
from rolltop.core.errors import Unavailable
from rolltop.core.tools import JsonObject
from rolltop.core.worker_process import Worker, WorkerDied, WorkerPool
from rolltop.toolsets.scratch.syntax.checker import LANGUAGES
from rolltop.web.visit import Visit

MAX_COLOURED: Final = 1 << 17
"""Characters of a cell."""
SECONDS: Final = 0.05
"""Of processor time for one page."""
MAX_SECONDS: Final = 10.0
"""With the start of the process, which comes first."""
_MAX_CPU_SECONDS: Final = 5.0
_MAX_MEMORY: Final = 1 << 28
_MAX_WORKERS: Final = 4
_COLOURED: Final = frozenset(LANGUAGES) - {"txt"}


class Colours:
    """The processes that colour cells, each started when needed; one is kept."""

    def __init__(self, _app: AppContext | None = None, *, seconds: float = SECONDS) -> None:
        """Take the processor time for the cells of a call, in seconds."""
        self._pool: Final = WorkerPool(
            Worker("rolltop.web.colourer:Colourer", (seconds,), memory=_MAX_MEMORY),
            max_workers=_MAX_WORKERS,
        )

    def colour(self, cells: Sequence[JsonObject]) -> dict[str, list[Markup]]:
        """Return the lines of cells as HTML, by cell; blocks.

        Cells that are long or of no known language are left out; where the process fails, all are.
        """
        chosen = [
            cell
            for cell in cells
            if cell["language"] in _COLOURED and len(cell.get("content", "")) <= MAX_COLOURED
        ]
        if not chosen:
            return {}
        texts = [(cell["language"], cell.get("content", "")) for cell in chosen]
        try:
            answer: list[list[str]] = self._pool.call(texts, MAX_SECONDS, _MAX_CPU_SECONDS)
        except (WorkerDied, Unavailable):
            return {}
        return {
            cell["cell_id"]: [Markup(line) for line in lines]  # noqa: S704  # escaped by the worker
            for cell, lines in zip(chosen, answer, strict=True)
        }

    def close(self) -> None:
        """End the processes."""
        self._pool.close()


async def colour(visit: Visit, cells: Sequence[JsonObject]) -> dict[str, list[Markup]]:
    """Return the lines of those cells that have colours, as HTML, by cell."""
    return await visit.run_in_thread(visit.app.service(Colours).colour, cells)
