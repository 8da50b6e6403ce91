"""One turn of each host with what `rolltop install CLIENT --hooks` sets, in a home of its own.

No account is needed: a model on the loopback says what the test tells it to. Its requests show what
a model is told of Rolltop, its calls what a host lets it do, and how answers come back.

Not shown: Codex trusts hooks only in its window, so here an option does; neither it nor Claude Code
shows anybody what a hook prints at a session's end; Gemini CLI compresses at a length that no test
here reaches, and its PreCompress, which comes before each request, is none of our hooks.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import token_counter
from rolltop.core.settings import HOST_RESULT_TOKENS
from rolltop.toolsets import TOOLSETS
from tests.conformance.programs import ROLLTOP
from tests.hosts import models
from tests.hosts.models import Call
from tests.hosts.programs import CLAUDE, CODEX, GEMINI, QUIET, Host

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.hosts.models import Model

TOOLS: Final = {tool.name: tool for toolset in TOOLSETS for tool in toolset.tools}
CORE: Final = {name for name, tool in TOOLS.items() if tool.is_core}
OPEN_TASK: Final = "Paint the heron"
ASKED: Final = "Mow the meadow"
LONG: Final = " ".join(
    f"Paragraph {number} says that the quick brown heron number {number} jumped over the fence."
    for number in range(1_300)
)
"""A note that is longer than any host's limit."""


def at_work(program: Sequence[str | Path], home: Path, client: str, **variables: str) -> Host:
    """Return a host whose user has installed Rolltop with its hooks, and has a task open."""
    host = Host(program, home)
    path = host.variables["PATH"]
    host.variables = {"PATH": path, "HOME": str(home), **QUIET, **variables}
    host.run(ROLLTOP, "install", client, "--hooks", "--yes")
    host.run(ROLLTOP, "call", "add_task", f"title={OPEN_TASK}")
    return host


def keep_note(host: Host) -> str:
    """Return the address of a long note."""
    saved = host.run(ROLLTOP, "call", "note_save", "--json", json.dumps({"text": f"Long\n{LONG}"}))
    return json.loads(saved.stdout)["uri"]


def check_desk(host: Host, client: str) -> None:
    """Fail unless the task that the model asked for is on the desk, and the host's own to it."""
    found = host.run(ROLLTOP, "call", "desk_search", f"query={ASKED}", 'kinds=["task"]').stdout
    assert ASKED in [hit["title"] for hit in json.loads(found)["hits"]]
    resumed = host.run(ROLLTOP, "hook", "session-start", "--for", client).stdout
    assert ASKED in resumed
    assert "by_others" not in resumed


def check_whole(answer: dict[str, Any], limit: int) -> None:
    """Fail unless an answer came as it was sent, in what the host takes."""
    assert answer["truncated"] is True
    assert answer["next"]["tool"] == "note_get"
    sent = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    assert limit * 0.9 < token_counter.count(sent) <= limit


def parse(answer: str) -> dict[str, Any]:
    """Return a tool's answer without what the host writes around it."""
    return json.loads(answer[answer.index("{") : answer.rindex("}") + 1])


def test_claude_code_works_on_the_desk(tmp_path: Path) -> None:
    claude = at_work(CLAUDE, tmp_path, "claude-code", ANTHROPIC_API_KEY="none")
    calls = (
        Call("ToolSearch", {"query": "select:mcp__rolltop__note_get", "max_results": 5}),
        Call("mcp__rolltop__add_task", {"title": ASKED}),
        Call("mcp__rolltop__desk_read", {"uri": keep_note(claude)}),
    )
    log = tmp_path / "debug.txt"
    with models.serving(models.messages, *calls) as model:
        claude.variables["ANTHROPIC_BASE_URL"] = model.address
        turn = ("-p", "hello", "--allowedTools", "mcp__rolltop", "--debug-file", str(log))
        assert claude(*turn).strip() == models.DONE
        begun, *_, ended = model.requests
        _found, written, read = models.answers_in(ended)
        claude("-p", "--continue", "/compact")
        compaction = json.dumps(model.requests[len(calls) + 1])
    assert OPEN_TASK in json.dumps(begun)
    at_hand = {re.sub("^mcp__rolltop__", "", tool["name"]) for tool in ended["tools"]} & {*TOOLS}
    assert at_hand == {*CORE, "note_get"}
    named = set(re.findall(r"mcp__rolltop__(\w+)", json.dumps(ended)))
    assert named == {*TOOLS}
    assert "A durable desk" in json.dumps(ended)
    assert parse(written)["data"]["title"] == ASKED
    check_desk(claude, "claude-code")
    check_whole(parse(read), HOST_RESULT_TOKENS["claude-code"])
    assert re.search(f"Say in the summary .*{OPEN_TASK}", compaction)
    assert re.search(r"SessionEnd.* hook session-end .*completed with status 0", log.read_text())


def test_codex_works_on_the_desk(tmp_path: Path) -> None:
    codex = at_work(CODEX, tmp_path, "codex", WITNESS_KEY="none")
    uri = keep_note(codex)
    keep = Call("exec", "text(await tools.mcp__rolltop__note_save({text: 'Kept'}))")
    calls = (
        keep,
        Call("exec", "text(ALL_TOOLS.map(tool => tool.name).join(' '))"),
        Call("exec", f"text(await tools.mcp__rolltop__add_task({{title: '{ASKED}'}}))"),
        Call("exec", f"text(await tools.mcp__rolltop__desk_read({{uri: '{uri}'}}))", 10**6),
    )
    model, shown = run_codex(codex, [keep])
    [refused] = models.answers_in(model.requests[-1])
    assert "requires approval" in refused
    assert "hook:" not in shown  # none is trusted yet
    approve = "mcp_servers.rolltop.default_tools_approval_mode=approve"
    model, shown = run_codex(codex, calls, "--dangerously-bypass-hook-trust", "-c", approve)
    begun, compaction = model.requests[0], model.requests[len(calls)]
    assert OPEN_TASK in json.dumps(begun)
    assert re.search("- mcp__rolltop: A durable desk.*desk_resume.*add_task", json.dumps(begun))
    kept, listed, written, read = models.answers_in(compaction)
    assert parse(kept)["structuredContent"]["text"] == "Kept"
    assert set(re.findall(r"mcp__rolltop__(\w+)", listed)) == {*TOOLS}
    assert parse(written)["structuredContent"]["data"]["title"] == ASKED
    check_desk(codex, "codex")
    both = parse(read)
    assert json.loads(both["content"][0]["text"]) == both["structuredContent"]
    check_whole(both["structuredContent"], HOST_RESULT_TOKENS["codex"])
    assert re.findall("hook: (.*) Completed", shown) == [
        "SessionStart",
        "PreCompact",
        "SessionStart",
    ]


def run_codex(codex: Host, calls: Sequence[Call], *options: str) -> tuple[Model, str]:
    """Return the model that made these calls in a turn, and what Codex showed besides."""
    with models.serving(models.responses, *calls) as model:
        provider = f'name="witness",base_url="{model.address}",env_key="WITNESS_KEY"'
        settings = (
            "model_provider=witness",
            f'model_providers.witness={{{provider},wire_api="responses"}}',
            "mcp_servers.rolltop.required=true",  # which has it wait for its tools
        )
        turn = ["exec", "--skip-git-repo-check", *options]
        for setting in settings:
            turn += ["-c", setting]
        return model, codex.run(*codex.program, *turn, "hello").stderr


def test_gemini_cli_works_on_the_desk(tmp_path: Path) -> None:
    settings = tmp_path / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    gemini = at_work(GEMINI, tmp_path, "gemini", GEMINI_API_KEY="none")
    calls = (
        Call("mcp_rolltop_add_task", {"title": ASKED}),
        Call("mcp_rolltop_desk_read", {"uri": keep_note(gemini)}),
    )
    with models.serving(models.contents, *calls) as model:
        gemini.variables["GOOGLE_GEMINI_BASE_URL"] = model.address
        turn = gemini.run(*gemini.program, "-m", "gemini-2.5-pro", "--yolo", "-p", "hello")
        begun, *_, ended = model.requests
        written, read = models.answers_in(ended)
    assert models.DONE in turn.stdout
    assert OPEN_TASK in json.dumps(begun["contents"])
    assert "A durable desk" in json.dumps(begun)
    offered = {one["name"] for one in begun["tools"][0]["functionDeclarations"]}
    assert {f"mcp_rolltop_{name}" for name in TOOLS} <= offered
    assert parse(written)["data"]["title"] == ASKED
    check_desk(gemini, "gemini")
    check_whole(parse(read), HOST_RESULT_TOKENS["gemini-cli"])
    assert "Left on the desk" in turn.stderr
    assert "Keep with Rolltop" not in turn.stderr
