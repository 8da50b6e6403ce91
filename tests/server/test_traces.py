"""Spans of requests, as a collector of OpenTelemetry's protocol gets them."""

from __future__ import annotations

import gzip
import signal
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rolltop.core.errors import InvalidConfig
from rolltop.server.traces import Traces
from tests.server.processes import PATIENCE, HttpServer

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(ThreadingHTTPServer):
    """Keeps every request, as it came, and the spans in it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.bodies: list[bytes] = []
        self.paths: set[str] = set()
        self.came = threading.Condition()

    def wait_for(self, spans: int) -> None:
        """Wait until so many spans have come."""
        with self.came:
            assert self.came.wait_for(lambda: len(self.spans()) >= spans, PATIENCE)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def spans(self) -> list[Any]:
        """Return the spans that were sent, oldest first."""
        found: list[Any] = []
        for body in self.bodies:
            request = ExportTraceServiceRequest.FromString(body)
            for part in request.resource_spans:
                names = {one.key: one.value.string_value for one in part.resource.attributes}
                assert names["service.name"] == "rolltop"
                found += [span for scope in part.scope_spans for span in scope.spans]
        return sorted(found, key=lambda span: span.start_time_unix_nano)


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self) -> None:  # http.server's name
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        collector = cast("Collector", self.server)
        with collector.came:
            collector.bodies.append(body)
            collector.paths.add(self.path)
            collector.came.notify_all()
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # its names
        """Print nothing."""


@contextmanager
def collecting() -> Generator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            collector.shutdown()
            thread.join()


def attributes(span: Any) -> dict[str, str]:
    return {one.key: one.value.string_value for one in span.attributes}


def test_each_call_is_a_span_below_the_callers_and_holds_no_text_of_users(tmp_path: Path) -> None:
    with (
        collecting() as collector,
        HttpServer(tmp_path, http__traces_endpoint=collector.endpoint) as server,
    ):
        server.call("add_task", title="secret plan")
        below = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "a=secret"}
        named = {"name": "list_tasks", "arguments": {}, "_meta": below}
        assert server.rpc("tools/call", named)[0] == 200
        server.call("get_task", task_id="secret")
        server.rpc("tools/call", {"name": "secret_tool", "arguments": {}})
        server.rpc("secret/method")
        collector.wait_for(5)
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == 0
        spans = collector.spans()
        assert collector.paths == {"/v1/traces"}
        assert not any(b"secret" in body for body in collector.bodies)
    names = [span.name for span in spans]
    calls = [f"tools/call {tool}".strip() for tool in ("add_task", "list_tasks", "get_task", "")]
    assert names[:4] == calls
    assert all(span.end_time_unix_nano > span.start_time_unix_nano for span in spans)
    assert (spans[1].trace_id.hex(), spans[1].parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(spans[0])["gen_ai.tool.name"] == "add_task"
    assert attributes(spans[2])["error.type"] == "tool_error"


def test_a_collector_that_is_not_there_holds_up_neither_calls_nor_the_end(tmp_path: Path) -> None:
    with HttpServer(tmp_path, http__traces_endpoint="http://127.0.0.1:9") as server:
        assert not server.call("add_task", title="plan").get("isError")
        server.process.send_signal(signal.SIGTERM)
        assert server.ends() == 0
        assert any("stopped" in line for line in server.stderr.rest())


@pytest.mark.parametrize(
    "endpoint",
    [
        *("collector:4317", "ftp://127.0.0.1", "127.0.0.1", "http://[::1 ]:4318"),
        *("http://user:key@collector", "http://collector?key=x"),
    ],
)
def test_what_is_no_address_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidConfig, match="no http"):
        Traces(endpoint, set())
