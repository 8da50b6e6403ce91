"""Two processes behind nginx, as docs/nginx.conf sets it up: a planned stop costs no call."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pytest

from tests.browsers.conftest import free_port, wait_for
from tests.server.processes import LEGACY, PATIENCE, HttpServer, rpc_request

if TYPE_CHECKING:
    from collections.abc import Generator

NGINX_CONF = Path(__file__).parents[2] / "docs" / "nginx.conf"
CALLERS = 8
STOPS = 6


@contextmanager
def proxied(folder: Path, ports: tuple[int, int]) -> Generator[str]:
    """Run nginx as the documentation sets it up; yields its host and port."""
    listening = free_port()
    text = NGINX_CONF.read_text()
    for written, real in (("8765", ports[0]), ("8766", ports[1]), ("8080", listening)):
        text = text.replace(f":{written}", f":{real}")
    main = f"daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n"
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    conf = folder / "nginx.conf"
    conf.write_text(f"{main} http {{ access_log off; {temporary} {text} }}")
    command = ["/usr/sbin/nginx", "-c", str(conf), "-p", str(folder)]
    with subprocess.Popen(command) as nginx:
        try:
            host = f"127.0.0.1:{listening}"
            wait_for(host)
            yield host
        finally:
            nginx.terminate()


class Callers:
    """Callers that go on until they are stopped, and all that went wrong for them."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._stop = threading.Event()
        self.answered = [0] * CALLERS
        self.errors: list[str] = []
        self._threads = [threading.Thread(target=self._call, args=(n,)) for n in range(CALLERS)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(PATIENCE)

    def wait_for_more(self) -> None:
        """Wait until every caller has had ten more answers."""
        before = list(self.answered)
        for _ in range(int(PATIENCE * 20)):
            if all(now >= was + 10 for now, was in zip(self.answered, before, strict=True)):
                return
            self._stop.wait(0.05)
        raise AssertionError(f"callers wait: {self.errors}")

    def _call(self, number: int) -> None:
        arguments = {"name": "add_task", "arguments": {"title": f"of {number}"}}
        body, headers = rpc_request("tools/call", arguments, era=LEGACY)
        connection = http.client.HTTPConnection(self._host, timeout=PATIENCE)
        while not self._stop.is_set():
            try:
                connection.request("POST", "/mcp", body, headers)
                response = connection.getresponse()
                text = response.read().decode()
                if response.status != 200 or '"isError":true' in text.replace(" ", ""):
                    self.errors.append(f"{response.status} {text[:200]}")
            except (OSError, http.client.HTTPException) as failure:
                self.errors.append(repr(failure))
                connection.close()
            self.answered[number] += 1
        connection.close()


@pytest.mark.parametrize("drain", ["0s", "1s"])
def test_no_call_fails_while_processes_are_stopped_in_turn(tmp_path: Path, drain: str) -> None:
    ports = (free_port(), free_port())
    settings = {"http__drain_seconds": drain, "http__max_client_connections": 2000}
    with ExitStack() as opened:
        servers = [
            opened.enter_context(HttpServer(tmp_path, http__port=port, **settings))
            for port in ports
        ]
        host = opened.enter_context(proxied(tmp_path, ports))
        with Callers(host) as callers:
            for stop in range(STOPS):
                callers.wait_for_more()
                stopped = servers[stop % 2]
                stopped.process.send_signal(signal.SIGTERM)
                assert stopped.ends() == 0
                servers[stop % 2] = opened.enter_context(
                    HttpServer(tmp_path, http__port=ports[stop % 2], **settings)
                )
            callers.wait_for_more()
        log = tmp_path / "error.log"
        refused = re.compile(r"\(111: Connection refused\)")
        reasons = [line for line in log.read_text().splitlines() if not refused.search(line)]
        assert (callers.errors[:3], reasons[:3]) == ([], [])
