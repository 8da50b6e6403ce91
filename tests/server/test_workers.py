"""`rolltop serve --http --workers N`: real processes that accept from one socket."""

from __future__ import annotations

import errno
import http.client
import os
import re
import signal
import socket
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import pytest

from rolltop.server import workers
from rolltop.server.workers import InheritedSockets
from tests.forks import PATIENCE, Forked
from tests.server.processes import MODERN, HttpServer, Lines, rpc_request, sse_or_json

if TYPE_CHECKING:
    from collections.abc import Iterator

PROCESS = re.compile(rb"^rolltop_process_id (\S+)$", re.MULTILINE)
CALLS = 24


class Workers(HttpServer):
    """The program itself, as it is installed."""

    def __init__(self, folder: Path, *arguments: str, **settings: Any) -> None:
        given = {"data_dir": folder / "data", "http.shutdown_timeout": "1h", **settings}
        options = [f"--set={key}={value}" for key, value in given.items()]
        program = ["-m", "rolltop", "serve", "--http", "127.0.0.1:0", *arguments, *options]
        self.process = Forked(program, folder=folder, environment=os.environ)
        self.stdin = self.process.stdin
        self.stdout = Lines(self.process.stdout)
        self.stderr = Lines(self.process.stderr)

    def begin(self) -> Self:
        """Wait until the first worker serves."""
        self.url = self.stderr.until(r"started .*url=(\S+)")[1]
        self.host = urlsplit(self.url).netloc
        return self

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.stderr.left()  # the workers have ended, too

    def answering(self) -> int:
        """Return the process that takes a new connection now."""
        status, _, body = self.ask("GET", "/metrics")
        found = PROCESS.search(body)
        assert status == 200
        assert found is not None
        return round(float(found[1]))

    def is_listening(self) -> bool:
        """Whether somebody takes connections."""
        host, port = self.host.split(":")
        with socket.socket() as probe:
            return probe.connect_ex((host, int(port))) == 0

    def both(self) -> tuple[int, int]:
        """Return both workers: one stands still, so that the other answers."""
        first = self.answering()
        return first, self.other_than(first)

    def other_than(self, first: int) -> int:
        """Return the worker that answers while this one stands still."""
        os.kill(first, signal.SIGSTOP)
        try:
            return self.answering()
        finally:
            os.kill(first, signal.SIGCONT)


@pytest.fixture
def servers(tmp_path: Path, database_url: str) -> Iterator[Workers]:
    with Workers(tmp_path, "--workers", "2", database_url=database_url) as started:
        yield started.begin()


def test_a_second_worker_answers_and_a_stop_loses_no_call(servers: Workers) -> None:
    first, second = servers.both()
    assert len({first, second, servers.process.pid}) == 3
    connections: list[http.client.HTTPConnection] = []
    for number in range(CALLS):
        call = {"name": "add_task", "arguments": {"title": f"task {number}"}}
        connection = http.client.HTTPConnection(servers.host, timeout=PATIENCE)
        connection.request("POST", "/mcp", *rpc_request("tools/call", call, era=MODERN))
        connections.append(connection)
    servers.process.send_signal(signal.SIGTERM)
    answers = [connection.getresponse() for connection in connections]
    assert [answer.status for answer in answers] == [200] * CALLS
    results = [sse_or_json(answer.read())["result"] for answer in answers]
    assert [result["content"] for result in results if result.get("isError")] == []
    for connection in connections:
        connection.close()
    assert servers.ends() == 0
    assert not servers.is_listening()


def test_workers_that_end_are_replaced(servers: Workers) -> None:
    serving = [*servers.both()]
    for number in (signal.SIGKILL, signal.SIGTERM):
        ended = serving.pop(0)
        os.kill(ended, number)
        servers.stderr.until(rf'"worker ended" pid={ended}')
        serving.append(servers.other_than(serving[0]))
        assert len({ended, *serving}) == 3
    servers.call("add_task", title="still there")
    servers.process.send_signal(signal.SIGTERM)
    assert servers.ends() == 0


def test_while_one_worker_ends_the_others_take_connections(servers: Workers) -> None:
    ending, other = servers.both()
    os.kill(other, signal.SIGSTOP)
    call = {"name": "desk_changes", "arguments": {"wait_seconds": 50}}
    connection = http.client.HTTPConnection(servers.host, timeout=PATIENCE)
    connection.request("POST", "/mcp", *rpc_request("tools/call", call, era=MODERN))
    assert servers.answering() == ending  # which has the call by now
    os.kill(other, signal.SIGCONT)
    os.kill(ending, signal.SIGTERM)
    servers.stderr.until(rf"stopping pid={ending}")
    while servers.answering() == ending:  # it has not stopped listening yet
        pass
    answer = sse_or_json(connection.getresponse().read())  # to the call that it still had
    assert not answer["result"].get("isError")
    connection.close()
    servers.stderr.until(rf'"worker ended" pid={ending} .*code=0')


def test_workers_end_with_a_parent_that_is_killed(servers: Workers) -> None:
    servers.both()
    servers.process.kill()
    assert any("the parent ended" in line for line in servers.stderr.rest())
    assert not servers.is_listening()


def test_what_keeps_a_worker_from_serving_ends_all_and_is_said_once(tmp_path: Path) -> None:
    with Workers(tmp_path, "--workers=2", **{"http.auth": "token"}) as refused:
        assert refused.ends() == 2
        lines = refused.stderr.rest()
    assert len([line for line in lines if "token" in line]) == 1


def test_a_store_that_is_refused_ends_all_and_no_worker_is_started_again(tmp_path: Path) -> None:
    store = tmp_path / "data" / "desk.db"
    store.parent.mkdir()
    store.write_bytes(b"no store at all" * 100)
    with Workers(tmp_path, "--workers=2") as refused:
        assert refused.ends() == 1
        lines = refused.stderr.rest()
    assert len([line for line in lines if "damaged" in line]) == 1


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        (["--workers=0"], {}),
        (["--workers=2", "--adopt-default=a@example.org"], {}),
        (["--workers=2"], {"http.socket": "desk.sock"}),
    ],
)
def test_what_goes_with_one_process_only_is_refused(
    tmp_path: Path, arguments: list[str], settings: dict[str, Any]
) -> None:
    with Workers(tmp_path, *arguments, **settings) as refused:
        assert refused.ends() == 2
        assert any("--workers" in line for line in refused.stderr.rest())


def test_a_worker_that_cannot_be_started_leaves_the_others_serving(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    started: list[str] = []

    class Process:
        """Serves until a signal comes; the second one finds no memory, the third is the last."""

        pid = 1

        def __init__(self, _command: object, pass_fds: tuple[int, int]) -> None:
            started.append("tried")
            if len(started) == 2:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            self.link = socket.socket(fileno=os.dup(pass_fds[1]))
            self.link.send(workers.READY)
            if len(started) == 3:
                os.kill(os.getpid(), signal.SIGTERM)

        def send_signal(self, _number: int) -> None:
            self.link.close()

        def wait(self) -> int:
            return 0

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        request.addfinalizer(partial(signal.signal, number, signal.getsignal(number)))
    request.addfinalizer(partial(signal.set_wakeup_fd, -1))
    make_pair = socket.socketpair

    def socketpair() -> tuple[socket.socket, socket.socket]:
        made = make_pair()
        for end in made:
            request.addfinalizer(end.close)
        return made

    monkeypatch.setattr(workers.socket, "socketpair", socketpair)
    monkeypatch.setattr(workers.subprocess, "Popen", Process)
    monkeypatch.setattr(workers, "_RESTART_PAUSE", 0.0)
    settings = {"http.host": "127.0.0.1", "http.port": 0, "http.socket": None}
    assert workers.serve_workers(settings, 2) == 0  # pyright: ignore[reportArgumentType]
    assert len(started) == 3


def test_a_parent_that_is_killed_before_it_reads_has_ended() -> None:
    listener, (parent, own) = socket.socket(), socket.socketpair()
    worker = InheritedSockets.from_argument(f"{listener.detach()},{own.detach()}")
    with worker.listener, worker.parent:
        worker.parent.send(b"unread")
        assert worker.is_shared()
        parent.close()
        assert worker.has_ended()
        assert not worker.is_shared()


def test_no_further_process_inherits_a_worker_s_sockets() -> None:
    one, other = socket.socketpair()
    for given in (one, other):
        given.set_inheritable(True)
    taken = InheritedSockets.from_argument(f"{one.detach()},{other.detach()}")
    with taken.listener, taken.parent:
        assert not taken.listener.get_inheritable()
        assert not taken.parent.get_inheritable()
