"""What one hostile caller costs the others over HTTP, with the limits as they are by default.

`python -m benchmarks.hostile_caller [SECONDS]`: ten people's agents call tools of all toolsets,
each some four times a second, while somebody with a token, or without one, does what costs a
server most. Each attack comes right after as many seconds without one; the ratio is of these two.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import statistics
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks.http_load import (
    FIRST_PORT,
    MIX,
    Caller,
    make_tokens,
    read_response,
    serve,
    wait_for,
)
from benchmarks.measure import Table, Times, machine
from tests.postgresql import new_folder, running
from tests.server.processes import MODERN, rpc_request

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS: Final = 30.0
CALLERS: Final = 10
PAUSE: Final = 0.25
CONNECTIONS: Final = 60
_ATTACKER: Final = "127.0.0.2"
_MIB: Final = 1 << 20


def _tool(name: str, **arguments: Any) -> bytes:
    return rpc_request("tools/call", {"name": name, "arguments": arguments}, era=MODERN)[0]


def _attacks() -> dict[str, tuple[str, bytes]]:
    """Return by what it is: the tool, if any, and the body that is sent over and over."""
    words = "rope lamp tide harbour pilot chart signal anchor cargo quay " * 20
    return {
        "ranked searches of many words": (
            "repo_smart_search", _tool("repo_smart_search", query=words[:900], limit=100),
        ),
        "exact searches of everything": (
            "repo_search", _tool("repo_search", query="e.*e.*e.*e.*z", regex=True, limit=200),
        ),
        "texts of 1 MiB, saved": ("note_save", _tool("note_save", text=words * (_MIB // 1300))),
        "cells of 1 MiB, validated": (
            "scratch_create",
            _tool("scratch_create", cells=[
                {"language": "python", "content": "[" * 900 + "1" + "]" * 900, "validate": True},
                {"language": "json", "content": json.dumps(list(range(150_000))), "validate": True},
            ]),
        ),
        "bodies of 30 MiB": ("note_save", _tool("note_save", text="x" * (30 * _MIB))),
        "JSON of 49,000 values": (
            "note_save", _tool("note_save", text="", tags=list(range(49_000))),
        ),
        "wrong tokens": ("", b"{}"),
        "halves of requests": ("half", b"{" * 1000),
    }  # fmt: skip


class Attacker:
    """Sends one body over many connections, each as soon as the last answer is there."""

    def __init__(self, port: int, token: str, tool: str, body: bytes) -> None:
        """Connect later."""
        self._port, self._body, self._is_half = port, body, tool == "half"
        headers: Mapping[str, str] = {
            "host": f"127.0.0.1:{port}",
            "content-type": "application/json",
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": MODERN,
            "mcp-method": "tools/call",
            "mcp-name": tool,
            "authorization": f"Bearer {token if tool else 'wrong'}",
            "content-length": str(len(body) * (2 if self._is_half else 1)),
        }
        lines = "".join(f"{key}: {value}\r\n" for key, value in headers.items())
        self._head = f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode()
        self.statuses: Counter[str] = Counter()

    async def run(self) -> None:
        """Attack until this is cancelled."""
        async with asyncio.TaskGroup() as group:
            for _number in range(CONNECTIONS):
                group.create_task(self._send_for_ever())

    async def _send_for_ever(self) -> None:
        while True:
            try:
                await self._send_over_one()
            except (OSError, EOFError) as error:
                self.statuses[type(error).__name__] += 1
                await asyncio.sleep(0.01)

    async def _send_over_one(self) -> None:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self._port, local_addr=(_ATTACKER, 0)
        )
        try:
            while True:
                writer.write(self._head + self._body)
                await writer.drain()
                status, _answer = await read_response(reader)
                self.statuses[str(status)] += 1
        finally:
            writer.close()


async def _call_for(seconds: float, port: int, tokens: list[str]) -> tuple[list[float], int]:
    """Return the time of each call of the ten, and how many failed."""
    callers = [
        Caller(number, port, tokens[number], tuple(MIX), pause=PAUSE) for number in range(CALLERS)
    ]
    end = perf_counter() + seconds
    await asyncio.gather(*(caller.run(end) for caller in callers))
    times = [one for caller in callers for each in caller.times.values() for one in each]
    return times, sum(sum(caller.errors.values()) for caller in callers)


async def _attack(name: str, port: int, token: str) -> None:
    """Attack until this process is told to end, then print the answers' statuses."""
    tool, body = _attacks()[name]
    attacker = Attacker(port, token, tool, body)
    attack = asyncio.create_task(attacker.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, attack.cancel)
    with suppress(asyncio.CancelledError):
        await attack
    print(", ".join(f"{status} {n}" for status, n in attacker.statuses.most_common(4)))


async def _measure(port: int, tokens: list[str], seconds: float) -> Table:
    await wait_for(port)
    await _call_for(seconds, port, tokens)  # the indexes are made
    rows: list[tuple[str, ...]] = []
    ratios: list[float] = []
    for name in _attacks():
        alone, _failed = await _call_for(seconds, port, tokens)
        # In a process of its own, or the callers would wait for what it does to send.
        arguments = ("-m", "benchmarks.hostile_caller", name, str(port), tokens[-1])
        attack = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
        )
        beside, failed = await _call_for(seconds, port, tokens)
        attack.terminate()
        answered = (await attack.communicate())[0].decode().strip()
        quiet, loud = Times(tuple(alone)), Times(tuple(beside))
        ratios.append(loud.at(0.99) / quiet.at(0.99))
        cells = [
            f"{times.at(part) * 1e3:.0f} ms" for part in (0.5, 0.99) for times in (quiet, loud)
        ]
        rows.append((name, *cells, f"{ratios[-1]:.2f} ×", str(failed), answered))
    how = (
        f"{CALLERS} callers with pauses of {PAUSE} s on average; the attacker has {CONNECTIONS} "
        f"connections and an address of its own; {seconds:.0f} s each. Promise: at most 2 × the "
        f"others' p99; the median of the ratios is {statistics.median(ratios):.2f}."
    )
    headers = (
        *("attack", "p50 alone", "p50 beside", "p99 alone", "p99 beside"),
        *("ratio", "failed calls", "answers to the attacker"),
    )
    return Table("One hostile caller", how, headers, rows)


def main(seconds: float) -> None:
    """Print the table."""
    folder = new_folder()
    home = Path(tempfile.mkdtemp())
    try:
        with running(folder) as server:
            url = server.url("postgres")
            tokens = make_tokens(url)
            with serve(url, home, FIRST_PORT, {}):
                print(asyncio.run(_measure(FIRST_PORT, tokens, seconds)).markdown())
                print(machine())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case [name, port, token]:
            asyncio.run(_attack(name, int(port), token))
        case given:
            main(float(given[0]) if given else SECONDS)
