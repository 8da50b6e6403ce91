"""One story on a real server through a real client: what is called, what comes back, its cost.

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
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, cast

from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client

import rolltop
from rolltop.core import logging, pagination, token_counter
from rolltop.core.errors import StartupError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from mcp_types import Tool

    _Shown = Callable[[Mapping[str, Any]], Sequence[str]]

_SHOWN_LINES: Final = 8
_MAX_FILES: Final = 20  # files that one plan takes
_NARROWEST: Final = 60
_STEP, _GOOD, _BAD, _FAINT, _PLAIN = "\x1b[1m", "\x1b[32m", "\x1b[31m", "\x1b[2m", "\x1b[0m"
_LONG_ID: Final = re.compile(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f-]{22}\b")
_MOMENT: Final = re.compile(r"\b\d{4}-\d\d-\d\dT(\d\d:\d\d:\d\d)\.\d+Z")
_OWN_VARIABLES: Final = (
    *("ROLLTOP_", "DATABASE_URL", "DB_", "DOCS_ROOT", "CODE_ROOT", "LOG_"),
    *("SIMPLENOTE_", "SIMPERIUM_", "SYNC_", "API_TIMEOUT"),
)
_SCHEMA: Final = {
    "required": ["service"],
    "properties": {"replicas": {"type": "integer"}, "port": {"maximum": 65535}},
}
_DRAFT: Final = "service: billing\nreplicas: twelve\nport: 80800\n"
_NOTE: Final = (
    "Deploy checklist\n- [ ] back up the store\n- [ ] rehearse on staging\n- [ ] deploy\n"
)
_QUESTION: Final = "What happens to a write when the process is killed?"
_REMEMBERED: Final = "open a file without following symbolic links"
_EXACTLY: Final = "os.O_NOFOLLOW"
_SEARCHED: Final = "**/workspace/**/*.py"


def run_demo(working_directory: Path) -> int:
    """Tell the story on the documents of `working_directory`, or on our own sources elsewhere.

    The store is a temporary one. Returns 0. Raises StartupError if the server does not answer.
    """
    with tempfile.TemporaryDirectory(prefix="rolltop-demo-") as folder:
        scratch = Path(folder)
        documents = _documents(working_directory, scratch)
        return asyncio.run(_run_story(documents, scratch))


def _documents(working_directory: Path, scratch: Path) -> list[Path]:
    """Return this repository's pages and sources, or elsewhere the program's sources alone.

    Pages come first, longest first. The sources are copied where there is no repository,
    since an environment's folder is usually one that git ignores.
    """
    source = working_directory / "src" / "rolltop"
    pages: list[Path] = []
    if (source / "__init__.py").exists():
        pages = [*working_directory.glob("*.md"), *working_directory.glob("docs/**/*.md")]
    else:
        source = scratch / "documents"
        home = Path(rolltop.__file__).parent
        shutil.copytree(home, source, ignore=shutil.ignore_patterns("__pycache__"))
    found = [*pages, *source.glob("**/*.py")]
    return sorted(found, key=lambda path: (path.suffix != ".md", -path.stat().st_size, path))[
        :_MAX_FILES
    ]


async def _run_story(documents: Sequence[Path], scratch: Path) -> int:
    """Start the server, connect, and go through the story."""
    root = Path(os.path.commonpath([path.parent for path in documents]))
    with (scratch / "server.log").open("w+", encoding="utf-8") as log:
        transport = stdio_client(_server_parameters(root, scratch), errlog=log)
        try:
            async with Client(transport) as client:
                story = _DemoStory(client, sys.stdout)
                await story.introduce()
                await _show_reading(story, documents)
                await _show_search(story, root)
                await _show_tasks(story)
                await _show_drafts(story)
                await _show_notes(story)
                await _show_errors(story, documents[0])
                story.end(documents)
        except* (StartupError, BrokenPipeError) as group:  # or the reader of the story has left
            raise next(_leaves(group)) from group
        except* (OSError, TimeoutError, MCPError) as group:
            log.seek(0)
            said = log.read().strip().rsplit("\n", 1)[-1] or "nothing"
            reason = "; ".join(dict.fromkeys(str(error) for error in _leaves(group)))
            raise StartupError(
                f"The server of the demo failed ({reason}); its last words were: {said}",
                hint="`rolltop doctor` looks for the reason.",
            ) from group
    return 0


def _leaves(group: BaseExceptionGroup[BaseException]) -> Iterator[BaseException]:
    """Yield the exceptions of a group of groups."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(cast("BaseExceptionGroup[BaseException]", error))
        else:
            yield error


def _server_parameters(root: Path, scratch: Path) -> StdioServerParameters:
    """Return how the server is started: on a store of its own, untouched by our settings."""
    dropped = {"PYTHONDONTWRITEBYTECODE"}
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OWN_VARIABLES) and name not in dropped
    }
    own = {
        "ROLLTOP_DATA_DIR": str(scratch / "data"),
        "XDG_CONFIG_HOME": str(scratch / "config"),
        "DOCS_ROOT": str(root),
        "LOG_LEVEL": "warn",
    }
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "rolltop", "serve"],
        env=kept | own,
        cwd=str(scratch),
    )


async def _show_reading(story: _DemoStory, documents: Sequence[Path]) -> None:
    """Find a way around long documents without reading them."""
    longest = str(documents[0])
    toc = await story.call(
        "What is in the longest document? Its sections, with their prices.",
        "list_sections",
        file_path=longest,
    )
    await story.call(
        "What does it say, in short?",
        "smart_read",
        file_path=longest,
        mode="summary",
        max_summary_tokens=300,
    )
    await story.call(
        "One section of it, exactly as it stands.",
        "read_section",
        file_path=longest,
        section_heading=_section(toc),
    )
    await story.call(
        f"One question to {len(documents)} documents, on a budget.",
        "read_plan",
        file_paths=[str(path) for path in documents],
        query=_QUESTION,
        budget_tokens=1200,
    )


def _section(toc: Mapping[str, Any]) -> str:
    """Return the id of a section of middling size."""
    outline = cast("list[dict[str, Any]]", toc["outline"])
    fitting = [entry for entry in outline if 60 <= entry["tokens"] <= 400]  # noqa: PLR2004  # for the eye
    return str((fitting or outline)[len(fitting or outline) // 2]["id"])


async def _show_search(story: _DemoStory, root: Path) -> None:
    """Search for what somebody remembers of the code, and read the lines that answer it alone."""
    before = story.tokens_paid
    found = await story.call(
        "One remembers what a function does, not its name. Places, the best first.",
        "repo_smart_search",
        shown=_places,
        query=_REMEMBERED,
        file_glob=_SEARCHED,
        limit=3,
    )
    best = found["result"][0]
    await story.call(
        "The first of them, from its first line to its last, and no more of the file.",
        "repo_get_snippet",
        shown=_text,
        path=f"{best['repo']}/{best['path']}",
        start_line=best["line"],
        end_line=best["end_line"],
    )
    story.compare_cost(story.tokens_paid - before, root / best["path"])
    await story.call(
        "Every line with a text, exactly: the files as they are now.",
        "repo_search",
        shown=_lines,
        query=_EXACTLY,
        file_glob=_SEARCHED,
        limit=4,
    )


async def _show_tasks(story: _DemoStory) -> None:
    """Plan tasks of which one waits for another, and do the first."""
    first = await story.call(
        "A task from what was read.", "add_task", title="Kill it and see", priority=1
    )
    await story.call(
        "Another that has to wait for it.",
        "add_task",
        title="Write about it",
        blocked_by=[first["data"]["task_id"]],
    )
    ready = await story.call("What is ready now? Only the first.", "next_task")
    claimed = await story.call(
        "Take it, so that no other agent does.", "claim_task", task_id=ready["data"]["task_id"]
    )
    await story.call(
        "Done: with the claim's token, as its holder.",
        "complete_task",
        task_id=ready["data"]["task_id"],
        token=claimed["data"]["claim"]["token"],
    )
    await story.call("The one that waited is ready.", "list_tasks", status="pending")


async def _show_drafts(story: _DemoStory) -> None:
    """Draft data in a cell with a schema, be told on which lines it is wrong, mend and find it."""
    pad = await story.call(
        "A scratchpad that keeps a JSON Schema for its cells.",
        "scratch_create",
        metadata={"title": "Deployments", "schemas": {"deployment": {"schema": _SCHEMA}}},
    )
    pad_id = pad["scratchpad"]["scratch_id"]
    written = await story.call(
        "A cell that breaks the schema: it is kept, and told line by line.",
        "scratch_append_cell",
        draft=_DRAFT,
        shown=_diagnostics,
        scratch_id=pad_id,
        cell={
            "language": "yaml",
            "validate": True,
            "json_schema": "scratchpad://schemas/deployment",
            "content": _DRAFT,
        },
    )
    await story.call(
        "Mended by exact replacement, and valid.",
        "scratch_edit_cell",
        shown=_diagnostics,
        scratch_id=pad_id,
        cell_id=written["cell_id"],
        edits=[{"old": "twelve", "new": "3"}, {"old": "80800", "new": "8080"}],
    )
    await story.call(
        "Another day, another agent: which cell was that?",
        "scratch_search",
        shown=_hits,
        query="billing replicas",
    )


async def _show_notes(story: _DemoStory) -> None:
    """Save a note, change it from two sides, find it, and look back."""
    note_id = await _change_from_two_sides(story)
    await story.call("Found by its words.", "note_list", q="rehearse tag:deploy", preview_lines=2)
    await story.call(
        "Every version is kept …", "note_manage", action="history", id=note_id, shown=_history
    )
    await story.call(
        "… and any comes back, as a new one.",
        "note_manage",
        shown=_note,
        action="restore",
        id=note_id,
        version=1,
        local_version=3,
    )


async def _change_from_two_sides(story: _DemoStory) -> str:
    """Return the id of a note that is at version 3 then."""
    made = await story.call(
        "A note; it is on disk before it is answered.",
        "note_save",
        shown=_note,
        text=_NOTE,
        tags=["deploy"],
    )
    seen = {"id": made["id"], "local_version": made["local_version"]}
    await story.call(
        "One agent ticks a line off, by its number.",
        "note_save",
        shown=_note,
        **seen,
        text_patch=[{"op": "mod", "ln": 2, "val": "- [x] back up the store"}],
    )
    await story.call(
        "Another read the note before that: its patch of another line is moved, not refused.",
        "note_save",
        shown=_note,
        **seen,
        text_patch=[{"op": "add", "ln": 4, "val": "- [ ] tell the others"}],
    )
    await story.call(
        "A whole text from that first reading would undo both, so it is refused.",
        "note_save",
        fails=True,
        shown=_refusal,
        **seen,
        text="Deploy checklist\n- [x] deploy\n",
    )
    return str(made["id"])


async def _show_errors(story: _DemoStory, document: Path) -> None:
    """Make the mistakes that models make, and be told how to mend them."""
    await story.call("A misspelt argument.", "add_task", fails=True, titel="Celebrate")
    await story.call(
        "A section that is not there.",
        "read_section",
        fails=True,
        file_path=str(document),
        section_heading="Teleportation",
    )


class _DemoStory:
    """Prints each call with its answer, and counts tokens (cl100k_base) as a model would pay."""

    def __init__(self, client: Client, stream: Any) -> None:  # any text stream
        self._client = client
        self._stream = stream
        self._colours = stream.isatty() and not os.environ.get("NO_COLOR")
        self._width = max(_NARROWEST, shutil.get_terminal_size((100, 24)).columns)
        self._tokens_paid = 0
        self._calls = 0

    async def introduce(self) -> None:
        """Say who answers and what connecting costs."""
        listed = (await self._client.list_tools()).tools
        cost = sum(pagination.count_tokens(_model_view(tool)) for tool in listed)
        info, version = self._client.server_info, self._client.protocol_version
        name = f"{info.name} {info.version}" if info else "the server"
        self._say(f"{name} answers over stdio (MCP {version}).", _STEP)
        self._say(f"It offers {len(listed)} tools; listing them costs {cost:,} tokens.\n")
        self._tokens_paid += cost

    async def call(
        self,
        about: str,
        tool: str,
        *,
        fails: bool = False,
        draft: str = "",
        shown: _Shown | None = None,
        **arguments: Any,  # a tool's own
    ) -> dict[str, Any]:
        """Return the structured answer of one call, after printing it as `shown` shows it.

        The lines of a `draft` that is sent are printed too, with their numbers.
        Raises StartupError if it fails where it should not, or the other way round.
        """
        started = perf_counter()
        result = await self._client.call_tool(tool, arguments)
        elapsed = (perf_counter() - started) * 1000
        text = "".join(getattr(block, "text", "") for block in result.content)
        cost = token_counter.count(text)
        self._calls += 1
        self._tokens_paid += cost
        self._say(f"{self._calls}. {about}", _STEP)
        written = ", ".join(
            f"{name}={_format_argument(value)}" for name, value in arguments.items()
        )
        self._say(self._truncate_line(f"   → {tool}({written})"))
        for number, line in enumerate(draft.splitlines(), 1):
            self._say(self._truncate_line(f"     {number:>3}  {line}"), _FAINT)
        lines = (shown or _format_answer)(result.structured_content or {})
        for line in lines[:_SHOWN_LINES]:
            self._say(
                self._truncate_line(f"   {'✗' if result.is_error else '←'} {line}"),
                _BAD if result.is_error else _GOOD,
            )
        if len(lines) > _SHOWN_LINES:
            self._say(f"     … {len(lines) - _SHOWN_LINES} lines more", _FAINT)
        self._say(f"     {cost:,} tokens, {elapsed:.0f} ms\n", _FAINT)
        if result.is_error != fails:
            raise StartupError(f"{tool} answered what the demo did not expect", hint="See above.")
        return cast("dict[str, Any]", result.structured_content or {})

    @property
    def tokens_paid(self) -> int:
        """The tokens paid so far."""
        return self._tokens_paid

    def compare_cost(self, paid: int, path: Path) -> None:
        """Compare what a search and a part of a file cost with reading the file whole."""
        whole = token_counter.count(path.read_text(encoding="utf-8"))
        self._say(f"   The search and the lines cost {paid:,} tokens, {path.name} whole {whole:,}:")
        self._say(f"   {1 - paid / whole:.0%} saved, before anything is read in vain.\n")

    def end(self, documents: Sequence[Path]) -> None:
        """Compare what the story cost with reading its documents whole."""
        whole = sum(token_counter.count(path.read_text(encoding="utf-8")) for path in documents)
        self._say(
            f"{self._calls} calls and the list of tools cost {self._tokens_paid:,} tokens.", _STEP
        )
        self._say(f"Reading the {len(documents)} documents whole would have cost {whole:,}.")

    def _say(self, line: str, colour: str = "") -> None:
        painted = f"{colour}{line}{_PLAIN}" if colour and self._colours else line
        print(painted, file=self._stream, flush=True)  # the demo is for the eye

    def _truncate_line(self, line: str) -> str:
        return line if len(line) <= self._width else line[: self._width - 1] + "…"


def _model_view(tool: Tool) -> dict[str, object]:
    """Return of a listed tool what a model gets to see."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.input_schema,
    }


def _format_argument(value: object) -> str:
    """Return an argument for the eye: paths by their last part, lists by their length."""
    if isinstance(value, str) and value.startswith("/"):
        return f"…/{Path(value).name}"
    if isinstance(value, list) and len(cast("list[object]", value)) > 1:
        return f"[{len(cast('list[object]', value))} of them]"
    return _LONG_ID.sub(r"\1…", json.dumps(value, ensure_ascii=False))


def _format_answer(answer: Mapping[str, Any]) -> list[str]:
    """Return an answer's fields as lines: long texts as they read, things on one line each."""
    lines: list[str] = []
    for name, value in answer.items():
        if isinstance(value, str) and "\n" in value:
            lines += [f"{name}:", *(f"  {line}" for line in value.splitlines() if line.strip())]
        elif isinstance(value, list) and value:
            lines += [
                f"{name}:",
                *(f"  {_format_item(item)}" for item in cast("list[object]", value)),
            ]
        else:
            lines.append(f"{name}: {_format_item(cast('object', value))}")
    return lines


def _diagnostics(answer: Mapping[str, Any]) -> list[str]:
    """Return what a validation found in the one cell that was written, with its places."""
    (result,) = answer["validation"]
    told = [f"line {one['line']}: {one['message']}" for one in result["errors"]]
    return [
        f"cell_id: {_format_item(answer['cell_id'])}",
        f"valid: {_format_item(result['valid'])}",
        *told,
    ]


def _hits(answer: Mapping[str, Any]) -> list[str]:
    """Return the pad, the cell and the snippet of each hit."""
    return [
        f"cell {_format_item(hit['cell_id'])} of pad {_format_item(hit['scratch_id'])}: "
        f"{hit['snippet']}"
        for hit in answer["hits"]
    ]


def _places(answer: Mapping[str, Any]) -> list[str]:
    """Return the place of each unit, and what of the query it holds."""
    return [
        f"{hit['repo']}/{hit['path']}:{hit['line']}-{hit['end_line']} ({', '.join(hit['why'])})"
        for hit in answer["result"]
    ]


def _lines(answer: Mapping[str, Any]) -> list[str]:
    """Return each line with its place."""
    return [f"{hit['path']}:{hit['line']}: {hit['preview'].strip()}" for hit in answer["result"]]


def _text(answer: Mapping[str, Any]) -> list[str]:
    """Return the lines of a file."""
    return cast("str", answer["result"]["text"]).splitlines()


def _format_item(item: object) -> str:
    """Return a value on one line, a thing with fields as `name value` pairs."""
    if isinstance(item, Mapping):
        fields = cast("Mapping[str, object]", item).items()
        return " · ".join(
            f"{name} {_format_item(value)}" for name, value in fields if value is not None
        )
    if not isinstance(item, str):
        return json.dumps(item, ensure_ascii=False)
    return _MOMENT.sub(r"\1", _LONG_ID.sub(r"\1…", item))


def _note(answer: Mapping[str, Any]) -> list[str]:
    """Return version and text of a note, and whether a patch was moved."""
    rebased = ", rebased" if answer.get("rebased") else ""
    lines = answer["text"].splitlines()
    return [f"local_version: {answer['local_version']}{rebased}", *(f"  {line}" for line in lines)]


def _refusal(answer: Mapping[str, Any]) -> list[str]:
    """Return what a refused save is told."""
    error = answer["error"]
    return [f"{error['code']}: {error['message']}", error["resolution_hint"]]


def _history(answer: Mapping[str, Any]) -> list[str]:
    """Return one line for each version."""
    return [
        f"version {one['local_version']}: {one['bytes']} bytes, {one['source']}"
        for one in answer["versions"]
    ]


def main() -> int:
    """Tell the story of the working directory; return the exit code."""
    logging.configure(quiet=True)
    try:
        return run_demo(Path.cwd())
    except StartupError as failure:
        print(f"demo: {failure.message}. {failure.hint}", file=sys.stderr)
    except BrokenPipeError:  # the reader of the story has left
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1


if __name__ == "__main__":
    sys.exit(main())
