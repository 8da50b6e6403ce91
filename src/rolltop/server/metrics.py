"""What /metrics tells, in Prometheus' text format: of this process, and of no user."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from prometheus_client import (
    CONTENT_TYPE_PLAIN_0_0_4,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from starlette.datastructures import Headers

from rolltop.core.context import import_object
from rolltop.core.db import SYSTEM
from rolltop.core.errors import IncompatibleStore, Unavailable
from rolltop.server.asgi_responses import Rejection, client_address
from rolltop.server.auth import is_same_secret
from rolltop.server.host_check import is_loopback
from rolltop.server.rate_limits import WrongTokens

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rolltop.server.app import ServerApp

_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_STORE_TIMEOUT: Final = 2.0
_JOURNAL_GAUGES: Final = "rolltop.core.journal.history:count_entries"
_CHALLENGE: Final = {"www-authenticate": "Bearer"}
_NO_ERRORS: Final = ("ok", "cancelled")
_PROXY_HEADERS: Final = ("forwarded", "x-forwarded-for", "x-forwarded-proto", "x-real-ip", "via")

_COUNTERS: Final = {
    "calls": (
        "Calls that ended, by tool and by outcome: ok, cancelled or the code of an error.",
        ("tool", "outcome"),
    ),
    "errors": ("Calls that ended in an error, by tool and code.", ("tool", "code")),
    "http_responses": (
        "Responses by status: 401 is a missing or wrong token, 429 a limit, 503 a full server.",
        ("status",),
    ),
    "jobs": (
        "Runs of background jobs, by outcome: ok, fault or a code of an error.",
        ("job", "outcome"),
    ),
    "evictions": ("Pads that made room for others, by scratch.eviction_policy.", ("policy",)),
    "sync_errors": ("Syncs of notes that the server began and that failed, by code.", ("code",)),
}
"""What is counted: what it is and by which labels."""


class Metrics:
    """The counters of one server, from its start on."""

    def __init__(self, app: ServerApp) -> None:
        self._token: str = app.context.settings["http.metrics_token"].strip()
        self._wrong_tokens = WrongTokens(app.context.settings["http.wrong_token_limit"])
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(f"rolltop_{name}", what, labels, registry=self._registry)
            for name, (what, labels) in _COUNTERS.items()
        }
        self._seconds = Histogram(
            "rolltop_call_seconds",
            "How long calls took.",
            ["tool"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._context = context = app.context
        subscriptions, start = app.subscriptions, time.monotonic()
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "uptime_seconds": ("Seconds since the start.", lambda: time.monotonic() - start),
            "process_id": ("Which process this is of.", os.getpid),
            "calls_in_flight": ("Calls that run now.", lambda: context.running_calls),
            "database_transactions": (
                "Transactions that run or wait for a connection now.",
                lambda: context.database.backlog,
            ),
            "streams": ("Streams of changes that are open.", lambda: subscriptions.count),
        }
        for name, (what, value) in gauges.items():
            Gauge(f"rolltop_{name}", what, registry=self._registry).set_function(value)
        ProcessCollector(registry=self._registry)
        PlatformCollector(registry=self._registry)
        context.call_observers.append(self._observe_call)
        context.count_observers.append(self._observe_count)
        app.job_observers.append(self._observe_job)

    content_type: Final = CONTENT_TYPE_PLAIN_0_0_4

    async def render(self) -> bytes:
        """Return all of it as Prometheus reads it; what the store holds only if it is in reach."""
        held = CollectorRegistry()
        for what, counts in (
            ("Held by the store, of all users.", await self._count_held()),
            ("Of the files that indexes are kept in.", await self._measure_files()),
        ):
            for name, number in counts.items():
                Gauge(f"rolltop_{name}", what, registry=held).set(number)
        return generate_latest(self._registry) + generate_latest(held)

    def check_reader(self, scope: Scope) -> None:
        """Refuse who may not read it: it needs its own token, or to be on this machine.

        Raises Rejection, and RateLimited where too many wrong tokens came from the address.
        """
        headers = Headers(scope=scope)
        if self._token:
            scheme, _, given = headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and is_same_secret(given.strip(), self._token):
                return
            if given:
                self._wrong_tokens.check(client_address(scope))
                self._wrong_tokens.count(client_address(scope))
            text = "/metrics needs the token of http.metrics_token"
            raise Rejection.with_message(401, text, _CHALLENGE)
        host = urlsplit(f"//{headers.get('host', '')}").hostname or ""
        is_proxied = any(name in headers for name in _PROXY_HEADERS) or not is_loopback(host)
        if is_proxied or not is_loopback(client_address(scope)):
            text = "Without http.metrics_token only this machine may read /metrics"
            raise Rejection.with_message(403, text, _CHALLENGE)

    def count_responses(self, app: ASGIApp) -> ASGIApp:
        """Return the application with its responses counted."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            async def count(message: Message) -> None:
                if message["type"] == "http.response.start":
                    self._counters["http_responses"].labels(str(message["status"])).inc()
                await send(message)

            await app(scope, receive, count)

        return serve

    async def _count_held(self) -> dict[str, float]:
        counts: dict[str, float] = {}
        toolsets = self._context.registry.toolsets
        with suppress(Unavailable, IncompatibleStore, TimeoutError):
            async with asyncio.timeout(_STORE_TIMEOUT):
                for path in (_JOURNAL_GAUGES, *(one.gauges for one in toolsets if one.gauges)):
                    counts |= await self._context.database.read(SYSTEM, import_object(path))
        return counts

    async def _measure_files(self) -> dict[str, float]:
        context, found = self._context, dict[str, float]()
        with suppress(TimeoutError):
            async with asyncio.timeout(_STORE_TIMEOUT):
                for toolset in context.registry.toolsets:
                    if toolset.file_gauges:
                        measure = import_object(toolset.file_gauges)
                        found |= await context.run_in_thread(measure, context)
        return found

    def _observe_call(self, tool: str, outcome: str, seconds: float) -> None:
        self._counters["calls"].labels(tool, outcome).inc()
        if outcome not in _NO_ERRORS:
            self._counters["errors"].labels(tool, outcome).inc()
        self._seconds.labels(tool).observe(seconds)

    def _observe_count(self, what: str, label: str, number: int) -> None:
        self._counters[what].labels(label).inc(number)

    def _observe_job(self, job: str, outcome: str) -> None:
        self._counters["jobs"].labels(job, outcome).inc()
