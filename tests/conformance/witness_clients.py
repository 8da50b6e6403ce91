"""The TypeScript SDKs v1 and v2 call every tool, over stdio and HTTP.

Both check each structured answer against the tool's published output schema, errors too, and throw
where it does not fit.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from rolltop.toolsets import TOOLSETS
from tests.conformance.calls import CALLS, DOCUMENT, REFUSED, TEXT
from tests.conformance.programs import HERE, ROLLTOP, free_port, listening, node

if TYPE_CHECKING:
    from pathlib import Path

TOOLS: Final = sorted(tool.name for toolset in TOOLSETS for tool in toolset.tools)
WRONG: Final = [*REFUSED, *((name, {"no_such_argument": 1}) for name in TOOLS)]
EXPECTED: Final = [(name, False) for name, _ in CALLS] + [(name, True) for name, _ in WRONG]
CLIENTS: Final = [("v1", "legacy"), ("v2", "legacy"), ("v2", "auto")]


def target(client: str, mode: str, **where: object) -> str:
    """What the client's program takes as its first argument."""
    return json.dumps(where if client == "v1" else {**where, "mode": mode})


def witness(client: str, server: str, folder: Path) -> list[dict[str, Any]]:
    """What the client made of every call."""
    calls = [{"name": name, "arguments": given} for name, given in [*CALLS, *WRONG]]
    run = node([HERE / "clients" / f"{client}.mjs", server, json.dumps(calls)], folder)
    assert run.returncode == 0, run.stderr[-3000:]
    said = json.loads(run.stdout)
    assert sorted(said["tools"]) == TOOLS
    return said["results"]


def check(results: list[dict[str, Any]]) -> None:
    """Nothing was thrown, only the wrong calls failed, and both halves of each answer agree."""
    thrown = [
        (name, it["thrown"])
        for (name, _), it in zip(EXPECTED, results, strict=True)
        if "thrown" in it
    ]
    assert thrown == []
    answers = [it["result"] for it in results]
    surprising = [
        (name, answer["structuredContent"])
        for (name, wrong), answer in zip(EXPECTED, answers, strict=True)
        if bool(answer.get("isError")) is not wrong
    ]
    assert surprising == []
    for answer in answers:
        assert json.loads(answer["content"][0]["text"]) == answer["structuredContent"]


def set_up(folder: Path) -> None:
    """Write the document, and the settings that make the folder a root."""
    (folder / DOCUMENT).write_text(TEXT, "utf-8")
    (folder / ".env").write_text("DOCS_ROOT=.\n", "utf-8")


def test_every_tool_is_called() -> None:
    assert sorted({name for name, _ in CALLS}) == TOOLS


@pytest.mark.parametrize(("client", "mode"), CLIENTS)
def test_every_answer_over_stdio_fits_its_schema(client: str, mode: str, tmp_path: Path) -> None:
    set_up(tmp_path)
    server = target(client, mode, command=str(ROLLTOP), args=["serve"])
    check(witness(client, server, tmp_path))


@pytest.mark.parametrize(("client", "mode"), CLIENTS)
def test_every_answer_over_http_fits_its_schema(client: str, mode: str, tmp_path: Path) -> None:
    set_up(tmp_path)
    port = free_port()
    command = [ROLLTOP, "serve", "--http", f"127.0.0.1:{port}"]
    with listening(command, port, tmp_path) as url:
        check(witness(client, target(client, mode, url=url), tmp_path))
