"""A raw client over stdio: one line out, the line with the same id back; nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Sequence

EMPTY = (sys.executable, str(Path(__file__).with_name("empty_server.py")))
"""An empty server on the same SDK: its own stdio transport, one tool that does nothing."""
ROLLTOP = (str(Path(sys.executable).with_name("rolltop")), "serve")


class Wire:
    """A server process and a client's end of it."""

    def __init__(self, command: Sequence[str], directory: Path, **environment: str) -> None:
        """Start the server with nothing in its environment but what is given."""
        self.started = perf_counter()
        self._next = 0
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env={**kept, "HOME": str(directory), **environment},
        )

    def __enter__(self) -> Self:
        """Return the client."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the server by closing its stdin."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(timeout=10)

    def request(self, method: str, parameters: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of one request; raises where the server answers an error."""
        self._next += 1
        sent = {"jsonrpc": "2.0", "id": self._next, "method": method, "params": parameters or {}}
        self._send(sent)
        assert self.process.stdout
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._next:
                return answer["result"]
        raise EOFError("the server ended")

    def initialize(self) -> None:
        """Shake hands as a client of the 2025-11-25 revision does."""
        self.request(
            "initialize",
            {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the structured answer of one call of a tool."""
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        return result.get("structuredContent", result)

    def resident(self) -> int:
        """Return the server's resident memory in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) * 1024

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
