"""`rolltop trace`: a recorded session of tool calls is made again, to see what it costs.

docs/traces.md describes the file.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any, Final, cast

from rolltop.cli import local_context, options, render
from rolltop.cli.lazy_modules import dispatch
from rolltop.core import pagination, token_counter
from rolltop.core.context import AppContext, ignore_progress
from rolltop.core.errors import InvalidArgument
from rolltop.core.principal import Principal
from rolltop.core.settings import Settings

_Line = dict[str, Any]
_HINT: Final = "docs/traces.md describes the lines of a recorded session."
_FORMS: Final[Mapping[str, Mapping[str, type]]] = {
    "tool": {"tool": str, "arguments": dict, "as": str, "expect": str},
    "client": {"client": str},
    "shell": {"shell": str},
    "files": {"files": list},
}
"""Each kind of line by the field that tells it, with its fields; each may say what it is about."""
_CREDENTIALS: Final = (
    "user",
    "workspace",
    *(f"notes.simplenote.{name}" for name in ("username", "password", "token")),
)
_REFERENCE: Final = re.compile(r"\$\{(\w+(?:\.\w+)*)\}")
# Ids, sessions and claim tokens are drawn anew by each replay. They count as one that costs what
# most do, so that the figures of two replays differ only where the answers do.
_DRAWN: Final = re.compile(
    r"\b[0-9a-f]{8}(?:(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?\b"
    r"|(?<=\()[0-9a-f]{6}(?=\))"
    r'|(?<="token":")[\w-]{16}(?=")'
)
_TYPICAL_ID: Final = "0d034d73-bff6-4a2e-924e-7f345687c475"


@dataclass(frozen=True)
class _Cost:
    """A call, a command or a file that is read: its tokens of cl100k_base, and milliseconds.

    `problem` is a call's error code, or says that its answer was another one.
    """

    client: str
    name: str
    sent: int
    answered: int
    ms: float = 0.0
    problem: str = ""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.epilog = "Exit code: 0 done, 1 a call failed or answered what was not expected."
    parser.add_argument("file", metavar="FILE", type=Path, help="a recorded session, a line a call")
    parser.add_argument(
        "--root", metavar="DIR", type=Path, default=Path(), help="the folder that tools may read"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", type=Path, help="keep the store here, not in a temporary one"
    )
    parser.add_argument(
        "--shell", action="store_true", help="run the commands that the file names, in the root"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what each call cost, and all of them; return 1 if one failed."""
    lines = list(_read_lines(arguments.file))
    with ExitStack() as stack:
        folder = arguments.data_dir or Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="rolltop-trace-", ignore_cleanup_errors=True)
            )
        )
        replay = _Replay(_own_settings(arguments, folder), arguments.root, shell=arguments.shell)
        replay.run(lines)
    if arguments.json:
        options.print_line(json.dumps(replay.describe(), ensure_ascii=False))
    else:
        replay.print_table()
    return 1 if any(call.problem for call in replay.calls) else 0


def _read_lines(path: Path) -> Iterator[_Line]:
    """Yield the lines of a recorded session. Raises InvalidArgument for what is none."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise InvalidArgument(f"{path} cannot be read: {reason}", hint=_HINT) from None
    for number, written in enumerate(text.split("\n"), 1):
        if written.strip():
            yield _parse_line(written, f"{path}:{number}")


def _parse_line(written: str, where: str) -> _Line:
    try:
        line = json.loads(written)
    except (ValueError, RecursionError):
        raise InvalidArgument(f"{where} is no JSON", hint=_HINT) from None
    known = cast("_Line", line) if isinstance(line, dict) else {}
    kind = next((kind for kind in _FORMS if kind in known), None)
    if kind is None:
        raise InvalidArgument(f"{where} has none of {', '.join(_FORMS)}", hint=_HINT)
    fields = {**_FORMS[kind], "about": str}
    for name, value in known.items():
        if name not in fields or not isinstance(value, fields[name]):
            raise InvalidArgument(f"{where}: {name} is unknown or of another type", hint=_HINT)
    return known


def _own_settings(arguments: Namespace, folder: Path) -> Settings:
    """Return the settings with a store and a root of their own, and nobody's account."""
    read = options.read_settings(arguments)
    own = {"data_dir": folder.absolute()}
    return read.replace(
        {
            **own,
            "database_url": Settings.defaults(read.declared.values()).replace(own)["database_url"],
            "retrieval.roots": {"code": str(arguments.root.absolute())},
            "reader.roots": [],
            **dict.fromkeys(_CREDENTIALS, ""),
        }
    )


class _Replay:
    """Replays the lines of a session; each client has a process's context of its own."""

    def __init__(self, settings: Settings, root: Path, *, shell: bool) -> None:
        self._settings, self._root, self._runs_shell = settings, root, shell
        self._answers: dict[str, object] = {}
        self._left_out = 0
        self.calls: list[_Cost] = []
        self._commands: list[_Cost] = []
        self._files: list[_Cost] = []

    def run(self, lines: list[_Line]) -> None:
        """Make every call, and what else is done for the same work."""
        sessions: list[tuple[str, list[_Line]]] = [("trace", [])]
        for line in lines:
            if "client" in line:
                sessions.append((line["client"], []))
            else:
                sessions[-1][1].append(line)
        for client, own in sessions:
            with local_context.open_context(self._settings) as context:
                local_context.local_principal(context)  # opens the store, as a server's start does
                for line in own:
                    self._replay(context, client, line)

    def _replay(self, context: AppContext, client: str, line: _Line) -> None:
        if "tool" in line:
            self._call(context, client, line)
        elif "files" in line:
            self._files += map(self._read_file, line["files"])
        elif self._runs_shell:
            self._commands.append(self._run_command(line["shell"]))
        else:
            self._left_out += 1

    def _call(self, context: AppContext, client: str, line: _Line) -> None:
        given = self._fill(line.get("arguments", {}))
        try:
            tool = context.registry.find(line["tool"], Principal.for_user(""))
        except dispatch.UnknownTool as unknown:
            raise InvalidArgument(unknown.message, hint=_HINT) from None
        started = perf_counter()
        answer = local_context.call_tool(context, tool, given, ignore_progress, actor=client)
        ms = _milliseconds_since(started)
        sent = _count(pagination.compact_json({"name": tool.name, "arguments": given}))
        problem = answer.code or ""
        if not problem and line.get("expect", "") not in answer.text:
            problem = "UNEXPECTED_ANSWER"
        self.calls.append(_Cost(client, tool.name, sent, _count(answer.text), ms, problem))
        self._answers[line.get("as", "")] = answer.structured

    def _fill(self, value: object) -> Any:  # noqa: ANN401  # any JSON
        """Return a value with what its references refer to; one alone keeps its type."""
        if isinstance(value, dict):
            return {name: self._fill(v) for name, v in cast("_Line", value).items()}
        if isinstance(value, list):
            return [self._fill(item) for item in cast("list[object]", value)]
        if not isinstance(value, str):
            return value
        if whole := _REFERENCE.fullmatch(value):
            return self._look_up(whole[1])
        return _REFERENCE.sub(lambda found: str(self._look_up(found[1])), value)

    def _look_up(self, reference: str) -> Any:  # noqa: ANN401  # any JSON
        value: Any = self._answers
        for step in reference.split("."):
            try:
                value = value[int(step) if isinstance(value, list) else step]
            except (LookupError, TypeError, ValueError):
                raise InvalidArgument(
                    f"${{{reference}}} refers to nothing that was answered", hint=_HINT
                ) from None
        return value

    def _run_command(self, command: str) -> _Cost:
        started = perf_counter()
        done = subprocess.run(  # noqa: S602  # --shell asks for it
            command,
            shell=True,
            cwd=self._root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        ms = _milliseconds_since(started)
        answered = _count(done.stdout.decode(errors="replace"))
        return _Cost("", "shell", _count(command), answered, ms)

    def _read_file(self, name: str) -> _Cost:
        try:
            text = (self._root / str(name)).read_text("utf-8", errors="replace")
        except OSError as error:
            raise InvalidArgument(f"{name} cannot be read: {error.strerror}", hint=_HINT) from None
        return _Cost("", "file", 0, _count(text))

    def _alternatives(self) -> dict[str, list[_Cost]]:
        found = {"commands": self._commands, "whole files": self._files}
        return {name: steps for name, steps in found.items() if steps}

    def describe(self) -> dict[str, object]:
        """Return what was measured, as JSON."""
        calls = [{n: v for n, v in asdict(call).items() if v != ""} for call in self.calls]
        others = {name.replace(" ", "_"): _total(s) for name, s in self._alternatives().items()}
        return {"calls": calls, "total": _total(self.calls), **others}

    def print_table(self) -> None:
        """Print a line for each call, then what all cost and what else would."""
        rows = [("client", "tool", "sent", "answered", "ms")]
        rows += [
            (render.printable(c.client), c.name, f"{c.sent:,}", f"{c.answered:,}", f"{c.ms:,.0f}")
            for c in self.calls
        ]
        for name, steps in {"calls": self.calls, **self._alternatives()}.items():
            count, sent, answered, ms = (f"{value:,.0f}" for value in _total(steps).values())
            rows.append(("", f"{name}: {count}", sent, answered, ms))
        problems = ["", *(call.problem for call in self.calls)]
        for row, problem in zip_longest(options.format_table(rows), problems, fillvalue=""):
            options.print_line(f"{row}  {options.paint(problem, options.RED)}".rstrip())
        if self._left_out:
            options.print_line(f"→ --shell also runs the file's commands: {self._left_out}.")


def _total(steps: list[_Cost]) -> dict[str, float]:
    return {
        "count": len(steps),
        "sent": sum(step.sent for step in steps),
        "answered": sum(step.answered for step in steps),
        "ms": sum(step.ms for step in steps),
    }


def _milliseconds_since(started: float) -> float:
    return round((perf_counter() - started) * 1000, 1)


def _count(text: str) -> int:
    return token_counter.count(_DRAWN.sub(lambda drawn: _TYPICAL_ID[: len(drawn[0])], text))
