"""Real server processes, and raw clients that see every byte they answer."""

from __future__ import annotations

import http.client
import json
import os
import queue
import re
import secrets
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

from tests import limits as product_limits
from tests.forks import PATIENCE, Forked

if TYPE_CHECKING:
    from collections.abc import Mapping

LEGACY: Final = "2025-11-25"
MODERN: Final = "2026-07-28"
CLOCK: Final = "time passes"
"""The file in a server's folder that sets its clock ahead."""
_GIVEN_PORTS: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_FIRST_PORT: Final = 10_000


class Lines:
    """The lines of a pipe, read on a thread so that waiting for one is bounded."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self.seen: list[str] = []
        self._leave = False
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._thread = threading.Thread(target=self._read, args=(pipe,), daemon=True)
        self._thread.start()

    def next(self) -> str | None:
        """Return the next line; None once the pipe was closed."""
        return self._lines.get(timeout=PATIENCE)

    def until(self, pattern: str) -> re.Match[str]:
        """Return the first match in the lines that are still to come."""
        while (line := self.next()) is not None:
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line with {pattern!r} among {self.seen}")

    def leave(self) -> None:
        """Close the reading end after the next line; `left` waits until that is done."""
        self._leave = True

    def left(self) -> None:
        """Wait until the reading end is closed: whoever writes now finds nobody there."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def rest(self) -> list[str]:
        """Return all lines to come, once the pipe is closed."""
        lines: list[str] = []
        while (line := self.next()) is not None:
            lines.append(line)
        return lines

    def _read(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                text = line.decode().rstrip("\n")
                self.seen.append(text)
                self._lines.put(text)
                if self._leave:
                    break
        self._lines.put(None)


class ServerProcess:
    """One server process of `tests.server.program`; `limits` are those of `set_limits`."""

    program = "tests.server.program"

    def __init__(
        self,
        transport: str,
        folder: Path,
        settings: Mapping[str, Any],
        limits: Mapping[str, float] | None = None,
    ) -> None:
        given = {"data_dir": folder / "data", **product_limits.SETTINGS, **settings}
        pairs = [f"{key}={value}" for key, value in given.items()]
        environment = {**os.environ, product_limits.VARIABLE: json.dumps(limits or {})}
        program = ["-m", self.program, transport, *pairs]
        self.process = Forked(program, folder=folder, environment=environment)
        self._clock = folder / CLOCK
        self.stdin = self.process.stdin
        self.stdout = Lines(self.process.stdout)
        self.stderr = Lines(self.process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        if not self.stdin.closed:
            with suppress(BrokenPipeError):
                self.stdin.close()

    def ends(self) -> int:
        """Return the exit code; fails if the process does not end."""
        return self.process.wait()

    def let_time_pass(self) -> None:
        """Let every limit pass that a `tests.server.clocked_program` has set once it stops."""
        self._clock.touch()


class StdioServer(ServerProcess):
    """A server over stdio, spoken to line by line."""

    def __init__(
        self, folder: Path, limits: Mapping[str, float] | None = None, /, **settings: Any
    ) -> None:
        super().__init__("stdio", folder, _keys(settings), limits)
        self._number = 0

    def send_line(self, line: bytes | str) -> None:
        data = line if isinstance(line, bytes) else line.encode()
        self.stdin.write(data + b"\n")
        self.stdin.flush()

    def send(self, method: str, params: Any = None, **envelope: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, **envelope}
        self.send_line(json.dumps(message if params is None else {**message, "params": params}))

    def answer(self) -> dict[str, Any]:
        """Return the next message from the server."""
        line = self.stdout.next()
        assert line is not None, self.stderr.seen
        return json.loads(line)

    def request(self, method: str, params: Any = None) -> dict[str, Any]:
        """Return the response to a request; nothing else may come before it."""
        self._number += 1
        self.send(method, params, id=self._number)
        response = self.answer()
        assert response["id"] == self._number, response
        return response

    def initialize(self) -> dict[str, Any]:
        """Open a connection of the handshake era."""
        response = self.request("initialize", handshake())
        self.send("notifications/initialized")
        return response["result"]

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Return the result of a tool call of the handshake era."""
        return self.request("tools/call", {"name": name, "arguments": arguments})["result"]


class ClockedStdioServer(StdioServer):
    """A server over stdio that stops as long as it likes until it is let run out of time."""

    program = "tests.server.clocked_program"


class DeafStdioServer(StdioServer):
    """A server over stdio whose loop misses the first signal."""

    program = "tests.server.deaf_program"


class HttpServer(ServerProcess):
    """A server over HTTP on a port of its own choice."""

    def __init__(
        self, folder: Path, limits: Mapping[str, float] | None = None, /, **settings: Any
    ) -> None:
        given = {"http.port": 0, "http.drain_seconds": 0, **_keys(settings)}
        super().__init__("http", folder, given, limits)
        self.url = self.stderr.until(r"started .*url=(\S+)")[1]
        self.host = urlsplit(self.url).netloc

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers (names in lower case) and body of one request."""
        connection = http.client.HTTPConnection(self.host, timeout=PATIENCE)
        try:
            with suppress(ConnectionError):  # it was refused before all of it was sent
                connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            return response.status, names, response.read()
        finally:
            connection.close()

    def rpc(
        self, method: str, params: Any = None, *, era: str = LEGACY, token: str = ""
    ) -> tuple[int, Any]:
        """Return status and message of one request in the given era."""
        body, headers = rpc_request(method, params, era=era)
        if token:
            headers["authorization"] = f"Bearer {token}"
        status, _, answer = self.ask("POST", "/mcp", body, headers)
        return status, sse_or_json(answer)

    def call(self, name: str, *, era: str = LEGACY, token: str = "", **arguments: Any) -> Any:
        """Return the result of a tool call."""
        params = {"name": name, "arguments": arguments}
        status, message = self.rpc("tools/call", params, era=era, token=token)
        assert status == 200, (status, message)
        return message["result"]


class ClockedHttpServer(HttpServer):
    """A server over HTTP that stops as long as it likes until it is let run out of time."""

    program = "tests.server.clocked_program"


def free_port() -> int:
    """Return a port of the loopback that nobody listens on, and no other program gets by chance.

    It lies below those that the system gives to whoever asks for any, or connects to somebody.
    """
    first_given = int(_GIVEN_PORTS.read_text().split()[0])
    while True:
        port = secrets.randbelow(first_given - _FIRST_PORT) + _FIRST_PORT
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def handshake() -> dict[str, Any]:
    """Return the parameters of `initialize`."""
    client = {"name": "raw", "version": "1"}
    return {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": client}


def modern_meta(**more: Any) -> dict[str, Any]:
    """Return the `_meta` that every request of the modern era carries."""
    prefix = "io.modelcontextprotocol"
    return {
        f"{prefix}/protocolVersion": MODERN,
        f"{prefix}/clientCapabilities": {},
        f"{prefix}/clientInfo": {"name": "raw", "version": "1"},
        **more,
    }


def rpc_request(method: str, params: Any = None, *, era: str) -> tuple[bytes, dict[str, str]]:
    """Return body and headers of a request over HTTP."""
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": era,
    }
    given = dict(params or {})
    if era == MODERN:
        given["_meta"] = {**modern_meta(), **given.get("_meta", {})}
        headers["mcp-method"] = method
        name = given.get("name") or given.get("uri")
        if name is not None and method in {"tools/call", "prompts/get", "resources/read"}:
            headers["mcp-name"] = name
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
    return json.dumps(message).encode(), headers


def sse_or_json(body: bytes) -> Any:
    """Return the last message of a response, whichever form it has."""
    text = body.decode()
    data = [line[5:] for line in text.splitlines() if line.startswith("data:") and line[5:].strip()]
    return json.loads(data[-1] if data else text) if text.strip() else None


def _keys(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings by their keys: `http__auth` stands for http.auth."""
    return {key.replace("__", "."): value for key, value in settings.items()}
