"""Many callers at once over HTTP on PostgreSQL: calls a second, waits by tool, errors, memory.

`python -m benchmarks.http_load [SECONDS] [PROCESSES] [TOOL,TOOL]`: 200 callers, each with a
connection of its own, twenty users with a token each; every caller makes its next call as soon as
the last one is answered. The mix is of all toolsets unless tools are named. Where the processor's
time went is told for the servers, the processes they start, PostgreSQL and the callers.
"""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

import psutil

from benchmarks.measure import Table, Times, machine
from benchmarks.wire import ROLLTOP
from rolltop.core import accounts
from rolltop.core.db import SYSTEM, Database
from tests.postgresql import new_folder, running
from tests.server.processes import MODERN, rpc_request, sse_or_json

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

SECONDS: Final = 300.0
CALLERS: Final = 200
USERS: Final = 20
FIRST_PORT: Final = 18_750
_WORDS: Final = (
    "harbour",
    "tide",
    "pilot",
    "rope",
    "lamp",
    "chart",
    "signal",
    "anchor",
    "cargo",
    "quay",
)
_ROOT: Final = Path(__file__).parents[1]
UNLIMITED: Final = {
    "ROLLTOP_HTTP_RATE_LIMIT": "0",
    "ROLLTOP_HTTP_MAX_CONCURRENT_CALLS": "0",
    "ROLLTOP_HTTP_MAX_CLIENT_CONNECTIONS": "1000",
}
MIX: Final = {
    "add_task": 8,
    "list_tasks": 12,
    "next_task": 6,
    "complete_task": 4,
    "note_save": 8,
    "note_list": 8,
    "note_get": 6,
    "scratch_create": 3,
    "scratch_append_cell": 8,
    "scratch_read": 6,
    "repo_search": 8,
    "repo_smart_search": 4,
    "repo_open_file": 6,
    "smart_read": 3,
    "read_section": 3,
    "desk_search": 3,
    "desk_read": 2,
    "desk_resume": 2,
}
"""How often each tool is called, of a hundred calls."""


class Caller:
    """One client: its connection, what it has made, and what its calls took."""

    def __init__(
        self, number: int, port: int, token: str, tools: tuple[str, ...], pause: float = 0.0
    ) -> None:
        """Connect later; the number decides what it calls, of these tools, with such pauses."""
        self._tools, self._pause = tools, pause
        self._random = random.Random(number)  # noqa: S311  # the same each time
        self._port, self._token = port, token
        self.tasks: list[str] = []
        self.note = self.pad = ""
        self.times: defaultdict[str, list[float]] = defaultdict(list)
        self.errors: Counter[str] = Counter()

    async def run(self, end: float) -> None:
        """Call until the time is up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        for name in ("add_task", "note_save", "scratch_create"):
            await self._call(reader, writer, name)
        weights = [MIX[name] for name in self._tools]
        while perf_counter() < end:
            (name,) = self._random.choices(self._tools, weights)
            if name == "complete_task" and not self.tasks:
                name = "add_task"
            await self._call(reader, writer, name)
            await asyncio.sleep(self._random.uniform(0, 2 * self._pause))
        writer.close()

    async def _call(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: str
    ) -> None:
        body, headers = rpc_request(
            "tools/call", {"name": name, "arguments": self._arguments(name)}, era=MODERN
        )
        headers |= {
            "host": f"127.0.0.1:{self._port}",
            "authorization": f"Bearer {self._token}",
            "content-length": str(len(body)),
        }
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        started = perf_counter()
        writer.write(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        status, answer = await read_response(reader)
        self.times[name].append(perf_counter() - started)
        result: dict[str, Any] = (
            sse_or_json(answer).get("result", {}) if status == HTTPStatus.OK else {}
        )
        if status != HTTPStatus.OK or result.get("isError"):
            code = result.get("structuredContent", {}).get("code", "")
            self.errors[f"{name} {status} {code}".strip()] += 1
            return
        self._keep(name, result["structuredContent"])

    def _arguments(self, name: str) -> dict[str, Any]:
        words = " ".join(self._random.sample(_WORDS, 3))
        text = f"# {words}\n\n" + "\n".join(
            " ".join(self._random.choices(_WORDS, k=10)) for _ in range(8)
        )
        cell = {"language": "md", "content": text}
        page = self._random.choice(("README.md", "docs/architecture.md", "CHANGELOG.md"))
        source = "src/rolltop/core/pagination.py"
        given: dict[str, dict[str, Any]] = {
            "add_task": {"title": words, "description": text, "tags": ["load"]},
            "list_tasks": {"limit": 20},
            "complete_task": {"task_id": self.tasks[-1] if self.tasks else ""},
            "note_save": {"text": text},
            "note_list": {"query": words.split()[0], "limit": 10},
            "note_get": {"id": self.note},
            "scratch_create": {"metadata": {"title": words}, "cells": [cell]},
            "scratch_append_cell": {"scratch_id": self.pad, "cell": cell},
            "scratch_read": {"scratch_id": self.pad},
            "repo_search": {"query": self._random.choice(("def fits_budget", "raise", "cursor"))},
            "repo_smart_search": {"query": "where is a cursor decoded", "limit": 5},
            "repo_open_file": {"repo": "code", "path": source, "max_tokens": 1000},
            "smart_read": {"path": page},
            "read_section": {"path": "docs/architecture.md", "section_heading": "Rules"},
            "desk_search": {"query": words},
            "desk_read": {"uri": f"rolltop://note/{self.note}"},
        }
        return given.get(name, {})

    def _keep(self, name: str, answer: dict[str, Any]) -> None:
        """Remember what later calls are about."""
        if name == "add_task":
            self.tasks.append(answer["data"]["task_id"])
        elif name == "complete_task":
            self.tasks.pop()
        elif name == "note_save":
            self.note = answer["id"]
        elif name == "scratch_create":
            self.pad = answer["scratchpad"]["scratch_id"]


class Processors:
    """What the servers, the processes they start, PostgreSQL and the callers have computed."""

    def __init__(self, servers: list[int], postgresql: int) -> None:
        """Watch processes by their ids; PostgreSQL by its first one."""
        self._servers = [psutil.Process(pid) for pid in servers]
        self._postgresql = psutil.Process(postgresql)

    def read(self) -> dict[str, float]:
        """Seconds of processor time so far, by part."""
        others = [(_own(one), _ended(one) + _live(one)) for one in self._servers]
        return {
            "servers": sum(own for own, _started in others),
            "processes they start": sum(started for _own_time, started in others),
            "PostgreSQL": _own(self._postgresql)
            + _ended(self._postgresql)
            + _live(self._postgresql),
            "callers": time.process_time(),
        }

    def memory(self) -> int:
        """Bytes that the servers have resident."""
        return sum(process.memory_info().rss for process in self._servers)


def _own(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def _ended(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.children_user + times.children_system


def _live(process: psutil.Process) -> float:
    spent = 0.0
    for child in process.children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            spent += _own(child) + _ended(child)
    return spent


async def read_response(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the status and the body of one response."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower().split("\r\n")
    fields = dict(line.split(": ", 1) for line in head[1:] if ": " in line)
    status = int(head[0].split()[1])
    if "content-length" in fields:
        return status, await reader.readexactly(int(fields["content-length"]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return status, body


@contextmanager
def serve(
    url: str, home: Path, port: int, limits: Mapping[str, str]
) -> Generator[subprocess.Popen[bytes]]:
    """Yield a server that answers at the port."""
    command = [*ROLLTOP, "--http", f"127.0.0.1:{port}"]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "DATABASE_URL": url,
        "ROLLTOP_RETRIEVAL_ROOTS": f"code={_ROOT}",
        **limits,
    }
    with (home / f"log.{port}").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(timeout=60)


async def wait_for(port: int) -> None:
    """Wait until the server says that it is ready."""
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)
            continue
        writer.write(f"GET /ready HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n".encode())
        status, _body = await read_response(reader)
        writer.close()
        if status == HTTPStatus.OK:
            return
        await asyncio.sleep(0.1)


def make_tokens(url: str) -> list[str]:
    """Return a token for each of the users, who are made."""
    database = Database(url)
    tokens: list[str] = []
    for number in range(USERS):
        user = database.write_sync(SYSTEM, accounts.add_user, f"u{number}@example.org")
        plain, _token = database.write_sync(SYSTEM, accounts.create_token, user.id, "load")
        tokens.append(plain)
    database.close()
    return tokens


async def _measure(
    ports: list[int], tokens: list[str], seconds: float, tools: tuple[str, ...], clock: Processors
) -> Table:
    for port in ports:
        await wait_for(port)
    callers = [
        Caller(number, ports[number % len(ports)], tokens[number % USERS], tools)
        for number in range(CALLERS)
    ]
    memory = list[int]()
    before, started = clock.read(), perf_counter()
    end = started + seconds
    running_calls = asyncio.gather(*(caller.run(end) for caller in callers))
    while not running_calls.done():
        await asyncio.wait({running_calls}, timeout=max(seconds / 10, 1.0))
        memory.append(clock.memory() >> 20)
    await running_calls
    took = perf_counter() - started
    spent = {part: after - before[part] for part, after in clock.read().items()}
    return _report(callers, took, memory, len(ports), spent)


def _report(
    callers: list[Caller],
    seconds: float,
    memory: list[int],
    processes: int,
    spent: dict[str, float],
) -> Table:
    errors = sum((caller.errors for caller in callers), Counter[str]())
    rows: list[tuple[str, ...]] = []
    everything: list[float] = []
    for name in MIX:
        times = [one for caller in callers for one in caller.times[name]]
        if not times:
            continue
        everything += times
        rows.append((name, str(len(times)), *_cells(times)))
    rows.insert(0, ("all", str(len(everything)), *_cells(everything)))
    each = ", ".join(f"{part} {time / len(everything) * 1e3:.2f}" for part, time in spent.items())
    how = (
        f"{len(callers)} callers, {processes} server process(es), {seconds:.0f} s:"
        f" {len(everything) / seconds:.0f} calls a second; errors {sum(errors.values())}"
        f" {dict(errors.most_common(5)) if errors else ''}; memory of the servers over time, MB:"
        f" {', '.join(map(str, memory))}. Processor time of a call, ms: {each}."
    )
    return Table("Load over HTTP on PostgreSQL", how, ("tool", "calls", "p50", "p95", "p99"), rows)


def _cells(times: list[float]) -> tuple[str, ...]:
    found = Times(tuple(times or [0.0]))
    return tuple(f"{found.at(part) * 1e3:.0f} ms" for part in (0.5, 0.95, 0.99))


def main(seconds: float, processes: int, tools: tuple[str, ...]) -> None:
    """Print the table."""
    folder = new_folder()
    home = Path(tempfile.mkdtemp())
    try:
        with running(folder) as server, ExitStack() as stack:
            url = server.url("postgres")
            tokens = make_tokens(url)
            ports = [FIRST_PORT + number for number in range(processes)]
            started = [stack.enter_context(serve(url, home, port, UNLIMITED)) for port in ports]
            first = int((server.data / "postmaster.pid").read_text().split()[0])
            clock = Processors([process.pid for process in started], first)
            print(asyncio.run(_measure(ports, tokens, seconds, tools, clock)).markdown())
            print(machine())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    named = tuple(filter(None, given.get(3, "").split(","))) or tuple(MIX)
    main(float(given.get(1, SECONDS)), int(given.get(2, 1)), named)
