"""Progress of one call, told to a client that asked for it, at a bounded rate."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any, Final

from mcp.server.context import ServerRequestContext

_INTERVAL: Final = 0.1
_ProgressUpdate = tuple[float, float | None, str]


class ProgressReporter:
    """Where a tool's reports go: the latest is sent, at most ten a second, none out of order."""

    def __init__(self, context: ServerRequestContext[Any, Any]) -> None:
        """Say nothing unless the request carries a progress token."""
        self._session = context.session
        self._is_enabled = "progress_token" in (context.meta or {})
        self._loop = asyncio.get_running_loop()
        self._latest: _ProgressUpdate | None = None
        self._last_sent = float("-inf")
        self._send_task: asyncio.Task[None] | None = None
        self._finished = asyncio.Event()

    def report(self, done: float, total: float | None, message: str) -> None:
        """Take a report, from any thread."""
        if self._is_enabled:
            self._loop.call_soon_threadsafe(self._take, (done, total, message))

    async def finish(self) -> None:
        """Send what is left: after the answer nothing more may follow."""
        await asyncio.sleep(0)  # lets in the reports that threads have handed over
        self._is_enabled = False
        self._finished.set()
        if self._send_task is not None:
            await self._send_task

    def _take(self, note: _ProgressUpdate) -> None:
        if note[0] <= self._last_sent or self._finished.is_set():
            return
        self._latest = note
        if self._send_task is None or self._send_task.done():
            self._send_task = asyncio.create_task(self._send())

    async def _send(self) -> None:
        while self._latest is not None:
            (done, total, message), self._latest = self._latest, None
            if done > self._last_sent:
                self._last_sent = done
                await self._session.report_progress(done, total, message or None)
            if not self._finished.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(_INTERVAL):
                        await self._finished.wait()
