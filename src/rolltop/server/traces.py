"""Spans of requests, sent to an OpenTelemetry collector that the settings name; no text of users.

The SDK makes a span of each message, below the caller's where its `_meta` has a `traceparent`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from mcp_types.methods import SPEC_CLIENT_METHODS, SPEC_CLIENT_NOTIFICATION_METHODS

from rolltop import __version__
from rolltop.core.errors import InvalidConfig
from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http import trace_exporter
    from opentelemetry.sdk import resources
    from opentelemetry.sdk import trace as tracing
    from opentelemetry.sdk.trace import export
else:  # they come with the extra
    trace = lazy("opentelemetry.trace")
    trace_exporter = lazy("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    resources = lazy("opentelemetry.sdk.resources")
    tracing = lazy("opentelemetry.sdk.trace")
    export = lazy("opentelemetry.sdk.trace.export")

_KEY: Final = "http.traces_endpoint"
_PATH: Final = "/v1/traces"
_DELAY_MS: Final = 1000.0
# Without a name, a password or a query, which a list of the settings would show.
_ADDRESS: Final = re.compile(r"https?://[^\s/?#@]+(?:/[^\s?#@]*)?")
_OURS: Final = frozenset(
    {"mcp.method.name", "mcp.protocol.version", "gen_ai.operation.name", "gen_ai.tool.name"}
    | {"error.type", "rpc.response.status_code"}
)
"""Attributes whose values the program or the protocol declares, once names are checked."""
_METHODS: Final = SPEC_CLIENT_METHODS | SPEC_CLIENT_NOTIFICATION_METHODS


def check_endpoint(endpoint: str) -> None:
    """Raise InvalidConfig for what is no address of a collector."""
    if not _ADDRESS.fullmatch(endpoint):
        raise InvalidConfig(
            f"{_KEY}: it is no http(s) address, or more than one",
            hint="Send one as http://127.0.0.1:4318; what the collector asks for besides goes "
            "into OTEL_EXPORTER_OTLP_HEADERS.",
        )


class Traces:
    """Spans on their way to the collector."""

    def __init__(self, endpoint: str, tools: Collection[str]) -> None:
        """Send spans of all messages; of tools these are named.

        Raises InvalidConfig: the endpoint is no address, or the extra is not installed.
        """
        check_endpoint(endpoint)
        if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter") is None:
            raise InvalidConfig(
                f"{_KEY}: the exporter is not installed",
                hint="Install the extra: pip install 'rolltop[traces]'.",
            )
        address = endpoint.rstrip("/").removesuffix(_PATH) + _PATH
        exporter = _exporter(trace_exporter.OTLPSpanExporter(endpoint=address), tools)
        self._provider: Final = tracing.TracerProvider(
            resource=resources.Resource(
                {"service.name": "rolltop", "service.version": __version__}
            ),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(
            export.BatchSpanProcessor(exporter, schedule_delay_millis=_DELAY_MS)
        )
        trace.set_tracer_provider(self._provider)

    def close(self, timeout: float) -> None:
        """Send what is left, for as many seconds at most; blocks."""
        ending = threading.Thread(target=self._provider.shutdown, daemon=True)
        ending.start()
        ending.join(timeout)


def _exporter(sender: export.SpanExporter, tools: Collection[str]) -> export.SpanExporter:
    class NamesOnly(export.SpanExporter):
        """Sends spans without what callers wrote: names nobody declared, and messages."""

        def export(self, spans: Sequence[tracing.ReadableSpan]) -> export.SpanExportResult:
            return sender.export([_without_texts(span, tools) for span in spans])

        def shutdown(self) -> None:
            sender.shutdown()

    return NamesOnly()


def _without_texts(span: tracing.ReadableSpan, tools: Collection[str]) -> tracing.ReadableSpan:
    given: dict[str, Any] = {
        name: value for name, value in (span.attributes or {}).items() if name in _OURS
    }
    for name, known in (("mcp.method.name", _METHODS), ("gen_ai.tool.name", tools)):
        if given.get(name) not in known:
            given.pop(name, None)
    name = [given[key] for key in ("mcp.method.name", "gen_ai.tool.name") if key in given]
    return tracing.ReadableSpan(
        name=" ".join(name) or "unknown method",
        context=_without_state(span.context),
        parent=_without_state(span.parent),
        resource=span.resource,
        attributes=given,
        kind=span.kind,
        status=trace.Status(span.status.status_code),
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )


def _without_state(context: trace.SpanContext | None) -> trace.SpanContext | None:
    """Return a context without `tracestate`, in which callers may write what they like."""
    if context is None:
        return None
    return trace.SpanContext(
        context.trace_id, context.span_id, context.is_remote, context.trace_flags
    )
