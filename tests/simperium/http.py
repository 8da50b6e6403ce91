"""The server on a port of the loopback, in threads of this process."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final, Self

from tests.simperium.server import Reply, Request, Simperium

if TYPE_CHECKING:
    from types import TracebackType

_CHUNK: Final = b"0," * 8192


class Served:
    """A Simperium server that listens on `url` (http://127.0.0.1:…) until it is closed.

    `unanswered` is set once a request has come that is left without an answer.
    """

    def __init__(self, simperium: Simperium | None = None) -> None:
        """Serve `simperium`, or a new one without users."""
        self.simperium = simperium or Simperium()
        self.unanswered: Final = threading.Event()
        self._ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._answering())
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._thread.start()

    @property
    def host(self) -> str:
        """Return host and port."""
        return f"127.0.0.1:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Return the address without a path."""
        return f"http://{self.host}"

    def close(self) -> None:
        """Stop listening and end what is still unanswered."""
        self._ending.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        """Return the server."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _answering(self) -> type[BaseHTTPRequestHandler]:
        simperium, unanswered, ending = self.simperium, self.unanswered, self._ending

        class Answering(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                self._answer()

            def do_POST(self) -> None:
                self._answer()

            def do_DELETE(self) -> None:
                self._answer()

            def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002  # its own name
                """Say nothing."""

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.command, self.path, headers, self.rfile.read(length))
                reply = simperium.answer(request)
                if reply.delivery == "none":
                    unanswered.set()
                _send(self, reply, ending)

        return Answering


def _send(connection: BaseHTTPRequestHandler, reply: Reply, ending: threading.Event) -> None:
    """Send a reply as its delivery says; a client that has left is nothing to report."""
    if reply.delivery == "none":
        connection.close_connection = True
        _wait_for_the_client(connection, ending)
        return
    if reply.delivery == "close":
        connection.close_connection = True
        return
    try:
        _write(connection, reply, ending)
    except ConnectionError:
        connection.close_connection = True


def _write(connection: BaseHTTPRequestHandler, reply: Reply, ending: threading.Event) -> None:
    connection.send_response(reply.status)
    for name, value in reply.headers.items():
        connection.send_header(name, value)
    if reply.delivery == "whole":
        connection.send_header("Content-Length", str(len(reply.body)))
        connection.end_headers()
        connection.wfile.write(reply.body)
        return
    connection.send_header("Connection", "close")
    connection.end_headers()
    connection.wfile.write(reply.body)
    while not ending.is_set():
        connection.wfile.write(_CHUNK)


def _wait_for_the_client(connection: BaseHTTPRequestHandler, ending: threading.Event) -> None:
    """Wait until the client has left or the server ends."""
    connection.connection.settimeout(0.05)
    while not ending.is_set():
        try:
            if not connection.connection.recv(1):
                return
        except TimeoutError:
            continue
        except OSError:
            return
