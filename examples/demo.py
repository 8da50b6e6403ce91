"""One story on a real server through two real clients: what is called, what comes back, its cost.

`make demo` runs it on this repository. The store is a temporary one; settings are not read.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

from rolltop.core import logging, pagination, token_counter
from rolltop.core.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence

_REPOSITORY: Final = Path(__file__).resolve().parents[1]
_SHOWN_LINES: Final = 14
_STEP, _GOOD, _BAD, _FAINT, _PLAIN = "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
_LONG_ID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}\b")
_QUESTION: Final = "Which folders count as a project?"
_SCHEMA: Final = {
    "required": ["service"],
    "properties": {"replicas": {"type": "integer"}, "port": {"maximum": 65535}},
}
_DRAFT: Final = "service: billing\nreplicas: twelve\nport: 80800\n"
_PLAN: Final = (
    {"title": "Back up the store", "priority": 1},
    {"title": "Rehearse on staging", "blocked_by": [0]},
    {"title": "Deploy billing", "blocked_by": [1]},
)
_HANDOVER: Final = "Handover: billing\nThe backup is in /backups; staging has the new schema.\n"


async def tell_story(folder: Path) -> None:
    """Tell the story on a store in `folder`. Raises StartupError if a server does not answer."""
    story = _Story(sys.stdout)
    with (folder / "server.log").open("w+", encoding="utf-8") as log:
        try:
            async with _connect(folder, log) as client:
                await story.introduce(client)
                await _ask(story)
                await _draft(story)
                await _plan(story)
            story.say("That agent is gone. Another one opens the project, in its own process.\n")
            async with _connect(folder, log) as client:
                story.client = client
                await _take_over(story)
        except Exception as failure:
            errors = list(_leaves(failure))
            for error in errors:  # whatever went wrong besides: the reader of the story has left
                if isinstance(error, (BrokenPipeError, StartupError)):
                    raise error from failure
            if not all(isinstance(error, (OSError, TimeoutError, MCPError)) for error in errors):
                raise
            log.seek(0)
            said = log.read().strip().rsplit("\n", 1)[-1] or "nothing"
            reason = "; ".join(dict.fromkeys(map(str, errors)))
            raise StartupError(
                f"The server of the demo failed ({reason}); its last words were: {said}",
                hint="`rolltop doctor` looks for the reason.",
            ) from failure
    story.end()


@asynccontextmanager
async def _connect(folder: Path, log: Any) -> AsyncGenerator[Client]:  # a text file
    """Start a server as a host does in this repository, on the story's own store."""
    kept = {"PATH", "LANG", "SYSTEMROOT", "PYTHONPATH"}
    own = {
        "HOME": str(folder),
        "ROLLTOP_DATA_DIR": str(folder / "data"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "LOG_LEVEL": "warn",
    }
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "rolltop", "serve"],
        env={name: value for name, value in os.environ.items() if name in kept} | own,
        cwd=str(_REPOSITORY),
    )
    async with Client(stdio_client(server, errlog=log)) as client:
        yield client


def _leaves(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, or those of a group of groups."""
    if isinstance(error, BaseExceptionGroup):
        for part in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _leaves(part)
    else:
        yield error


async def _ask(story: _Story) -> None:
    """Ask something about this repository, and read the lines that answer it alone."""
    before = story.tokens
    found = await story.call(
        "A question about a repository nobody has read. Nothing was set up for it.",
        "repo_smart_search",
        lambda answer: [
            f"{hit['path']}:{hit['line']}-{hit['end_line']}" for hit in answer["result"]
        ],
        query=_QUESTION,
        limit=3,
    )
    best = found["result"][0]
    await story.call(
        "The best place, and no more of its file.",
        "repo_get_snippet",
        lambda answer: cast("str", answer["result"]["text"]).splitlines(),
        path=best["path"],
        start_line=best["line"],
        end_line=best["end_line"],
    )
    files = dict.fromkeys(hit["path"] for hit in found["result"])
    whole = sum(token_counter.count((_REPOSITORY / path).read_text("utf-8")) for path in files)
    spent = story.tokens - before
    story.say(f"   Both calls: {spent:,} tokens. The {len(files)} files whole: {whole:,}.\n")


async def _draft(story: _Story) -> None:
    """Draft data in a cell with a schema, be told on which lines it is wrong, and mend it."""
    cell = {"language": "yaml", "content": _DRAFT, "validate": True, "json_schema": _SCHEMA}
    made = await story.call(
        "A draft that breaks its schema is kept, and told line by line.",
        "scratch_create",
        _diagnostics,
        draft=_DRAFT,
        metadata={"title": "Deployment of billing"},
        cells=[cell],
    )
    await story.call(
        "Mended by exact replacement.",
        "scratch_edit_cell",
        _diagnostics,
        scratch_id=made["scratchpad"]["scratch_id"],
        cell_id=made["scratchpad"]["cells"][0]["cell_id"],
        edits=[{"old": "twelve", "new": "3"}, {"old": "80800", "new": "8080"}],
    )


async def _plan(story: _Story) -> None:
    """Plan in one call, do the first task, and leave a note."""
    planned = await story.call(
        "A plan in one call: each step waits for the one before.",
        "add_task",
        lambda answer: [f"{len(answer['data'])} tasks"],
        tasks=list(_PLAN),
    )
    first = planned["data"][0]["task_id"]
    claimed = await story.call(
        "The first step is claimed, so that no other agent starts it too.",
        "claim_task",
        lambda answer: [f"{answer['data']['title']}, by {answer['data']['claim']['by']}"],
        task_id=first,
    )
    await story.call(
        "Done.",
        "complete_task",
        lambda answer: [f"{answer['data']['title']}: {answer['data']['status']}"],
        task_id=first,
        token=claimed["data"]["claim"]["token"],
    )
    await story.call(
        "What the next one must know. It is on disk before it is answered.",
        "note_save",
        lambda answer: [f"version {answer['local_version']}"],
        text=_HANDOVER,
        tags=["billing"],
    )


async def _take_over(story: _Story) -> None:
    """Go on where the other client stopped, as one that knows nothing."""
    await story.call("What is next?", "next_task", lambda answer: [answer["data"]["title"]])
    await story.call(
        "What did they leave?",
        "note_list",
        lambda answer: cast("str", answer["items"][0]["preview"]).splitlines(),
        q="where is the backup of billing",
        preview_lines=2,
    )
    await story.call(
        "And the draft?",
        "scratch_search",
        lambda answer: [answer["hits"][0]["snippet"]],
        query="billing replicas",
    )


def _diagnostics(answer: Mapping[str, Any]) -> list[str]:
    """Return what a validation found in the one cell that was written, with its places."""
    (result,) = answer["validation"]
    told = [f"line {one['line']}: {one['message']}" for one in result["errors"]]
    return [*told, f"valid: {json.dumps(result['valid'])}"]


class _Story:
    """Prints each call with its answer, and counts tokens (cl100k_base) as a model would pay."""

    client: Client

    def __init__(self, stream: Any) -> None:  # any text stream
        self._stream = stream
        self._colours = stream.isatty() and not os.environ.get("NO_COLOR")
        self._width = shutil.get_terminal_size((100, 24)).columns
        self._calls = 0
        self.tokens = 0

    async def introduce(self, client: Client) -> None:
        """Say who answers and what connecting costs."""
        self.client = client
        listed = (await client.list_tools()).tools
        seen = [
            {"name": tool.name, "description": tool.description, "inputSchema": tool.input_schema}
            for tool in listed
        ]
        self.tokens += pagination.count_tokens(seen)
        info, version = client.server_info, client.protocol_version
        name = f"{info.name} {info.version}" if info else "the server"
        self.say(f"{name} answers over stdio (MCP {version}).", _STEP)
        self.say(f"It offers {len(listed)} tools; listing them costs {self.tokens:,} tokens.\n")

    async def call(
        self,
        about: str,
        tool: str,
        shown: Callable[[Mapping[str, Any]], Sequence[str]],
        draft: str = "",
        **arguments: Any,  # a tool's own
    ) -> dict[str, Any]:
        """Return the structured answer of one call, after printing it as `shown` shows it.

        The lines of a `draft` that is sent are printed too, with their numbers. Raises
        StartupError if the call fails.
        """
        started = perf_counter()
        result = await self.client.call_tool(tool, arguments)
        elapsed = (perf_counter() - started) * 1000
        cost = token_counter.count("".join(getattr(part, "text", "") for part in result.content))
        self._calls += 1
        self.tokens += cost
        self.say(f"{self._calls}. {about}", _STEP)
        written = ", ".join(f"{name}={_argument(value)}" for name, value in arguments.items())
        self.say(f"   → {tool}({written})")
        for number, line in enumerate(draft.splitlines(), 1):
            self.say(f"     {number:>3}  {line}", _FAINT)
        answer = cast("dict[str, Any]", result.structured_content or {})
        if result.is_error:
            self.say(f"   ✗ {json.dumps(answer, ensure_ascii=False)}", _BAD)
            raise StartupError(f"{tool} answered what the demo did not expect", hint="See above.")
        lines = shown(answer)
        for line in lines[:_SHOWN_LINES]:
            self.say(f"   ← {line}", _GOOD)
        if len(lines) > _SHOWN_LINES:
            self.say(f"     … {len(lines) - _SHOWN_LINES} lines more", _FAINT)
        self.say(f"     {cost:,} tokens, {elapsed:.0f} ms\n", _FAINT)
        return answer

    def end(self) -> None:
        """Say what the story cost, and how to go on."""
        command = Path(sys.executable).with_name("rolltop")
        self.say(f"{self._calls} calls and the list of tools cost {self.tokens:,} tokens.", _STEP)
        self.say("To connect your own host, which is one of claude-code, claude-desktop, cursor,")
        self.say("vscode, codex, gemini, zed:")
        self.say(f"\n    {command} install claude-code", _STEP)

    def say(self, line: str, colour: str = "") -> None:
        """Print a line, no wider than the terminal."""
        line = line if len(line) <= self._width else line[: self._width - 1] + "…"
        painted = f"{colour}{line}{_PLAIN}" if colour and self._colours else line
        print(painted, file=self._stream, flush=True)  # the demo is for the eye


def _argument(value: object) -> str:
    """Return an argument for the eye, with short ids."""
    return _LONG_ID.sub(r"\1…", json.dumps(value, ensure_ascii=False))


def main() -> int:
    """Tell the story; return the exit code."""
    logging.configure(quiet=True)
    try:
        with tempfile.TemporaryDirectory(prefix="rolltop-demo-") as folder:
            asyncio.run(tell_story(Path(folder)))
    except StartupError as failure:
        print(f"demo: {failure.message}. {failure.hint}", file=sys.stderr)
    except BrokenPipeError:  # the reader of the story has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
