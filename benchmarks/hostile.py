"""How long a ping waits over stdio while the server reads what somebody wrote to hold it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.measure import Table, Times
from benchmarks.wire import ROLLTOP, Wire

SIZE = 64 * 1024
RUNS = 100
DOCUMENTS = {
    "a tag that is never closed": ("tag.html", "<h1>Page</h1>\n<img", ' a="v"', ""),
    "unclosed CDATA": ("data.html", "", "<![CDATA[", "<h1>Page</h1>"),
    "open brackets": ("brackets.md", "# A\n\n", "[", ""),
    "quotes in quotes": ("quotes.md", "# A\n\n", ">", " a"),
    "open expressions": ("expressions.js", "", "/[", ""),
    "open comments": ("comments.rb", "", "=begin\n", ""),
    "open strings": ("strings.toml", "", '"\\', ""),
    "one letter": ("letter.txt", "", "a", ""),
}


def tables() -> list[Table]:
    """Return the table of waits: the longest of each call, and against an idle server's median."""
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as name, Wire(ROLLTOP, Path(name), DOCS_ROOT=name) as wire:
        wire.initialize()
        for file, start, unit, end in DOCUMENTS.values():
            Path(name, file).write_text(f"{start}{unit * (SIZE // len(unit))}{end}", "utf-8")
        wire.call("estimate_tokens", text="warm")
        idle = Times(tuple(_pings(wire, None)))
        for what, (file, *_) in DOCUMENTS.items():
            cells: list[str] = []
            for tool in ("list_sections", "smart_read"):
                waits = Times(tuple(_pings(wire, (tool, {"file_path": file}))))
                longest = waits.at(1.0)
                cells.append(f"{longest * 1e3:.1f} ms, {longest / idle.median:.0f} ×")
            rows.append((what, *cells))
    how = (
        f"Documents of {SIZE // 1024} KiB; pings one after the other while the call runs: the "
        f"longest wait, and by how much it is the median of an idle server, {idle.cell()}."
    )
    return [
        Table("Waiting beside hostile documents", how, ("document", "outline", "summary"), rows)
    ]


def _pings(wire: Wire, call: tuple[str, dict[str, Any]] | None) -> list[float]:
    """Return how long pings take, in seconds, until the call is answered; `RUNS` without one."""
    pipe_in, pipe_out = wire.process.stdin, wire.process.stdout
    assert pipe_in
    assert pipe_out

    def send(number: str, method: str, parameters: dict[str, Any]) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        pipe_in.write(json.dumps(message).encode() + b"\n")
        pipe_in.flush()

    waits: list[float] = []
    answered = call is None
    if call:
        send("call", "tools/call", {"name": call[0], "arguments": call[1]})
    while not answered or (call is None and len(waits) < RUNS):
        start = perf_counter()
        send(f"ping {len(waits)}", "ping", {})
        while (found := json.loads(pipe_out.readline()).get("id")) != f"ping {len(waits)}":
            answered = answered or found == "call"
        waits.append(perf_counter() - start)
    return waits
