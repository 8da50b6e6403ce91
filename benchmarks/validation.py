"""How much of what compilers refuse the check of a cell finds: typical mistakes, random damage."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks.measure import Table
from rolltop.toolsets.scratch.syntax import tree_sitter_check
from rolltop.toolsets.scratch.syntax.checker import LANGUAGES, check_cell
from rolltop.toolsets.scratch.syntax.results import CheckRequest
from tests.toolsets.scratch.syntax.data import real_files
from tests.toolsets.scratch.syntax.mistakes import mistakes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rolltop.toolsets.scratch.syntax.results import Diagnostic

DAMAGES: Final = 60
_LINES_SHARE: Final = 0.4  # of the damage is to whole lines
_TOKEN: Final = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class Compiler:
    """A language's own compiler, told only to parse `FILE`."""

    command: tuple[str, ...]
    suffix: str
    refusal: re.Pattern[str]
    """Its error's line; an error without a match is not one of syntax."""


_COMPILERS: Final = {
    "js": Compiler(("node", "--check", "FILE"), ".mjs", re.compile(r"\.mjs:(\d+)\n")),
    "sh": Compiler(("bash", "-n", "FILE"), ".sh", re.compile(r"line (\d+): ")),
    "java": Compiler(
        ("javac", "-XDshould-stop.ifNoError=PARSE", "-XDshould-stop.ifError=PARSE", "FILE"),
        ".java", re.compile(r"\.java:(\d+): error"),
    ),
    "rs": Compiler(
        ("rustc", "--edition=2021", "--crate-type=lib", "--emit=metadata", "FILE"),
        ".rs", re.compile(r"^error: (?!cannot find).*\n *--> .*\.rs:(\d+):", re.MULTILINE),
    ),
    "rb": Compiler(("ruby", "-c", "FILE"), ".rb", re.compile(r"\.rb:(\d+): ")),
    "php": Compiler(("php", "-l", "FILE"), ".php", re.compile(r"on line (\d+)")),
}  # fmt: skip


def tables() -> Iterator[Table]:
    """Make the two tables; the second is of those languages whose compiler is installed."""
    yield _mistakes_table()
    yield _damage_table()


def _mistakes_table() -> Table:
    rows: list[tuple[str, ...]] = []
    for language in LANGUAGES:
        if language in ("md", "txt"):
            continue
        found = [(one, check_cell(CheckRequest(language, one.text))) for one in mistakes(language)]
        by = found[0][1].details["syntax"]["by"]
        right = [bool(done.errors) and done.errors[0].line in one.lines for one, done in found]
        rows.append((language, by, *_shares([not done.valid for _, done in found], right)))
        if language in ("go", "sh"):
            alone = [
                (one, tree_sitter_check.check(one.text, language).errors)
                for one in mistakes(language)
            ]
            right = [bool(errors) and errors[0].line in one.lines for one, errors in alone]
            shares = _shares([bool(errors) for _, errors in alone], right)
            rows.append((language, "grammar, without the extra", *shares))
    return Table(
        "validation: typical mistakes",
        "Mistakes that a partial edit leaves behind, in one sample of each language "
        "(`tests/data/validate/mistakes`); placed: the first error is on the line of the change or "
        "beside it, where the compiler reports it, or where what is left open begins.",
        ("language", "by", "mistakes", "found", "placed"),
        rows,
    )


def _shares(found: Sequence[bool], placed: Sequence[bool]) -> tuple[str, str, str]:
    return str(len(found)), _percent(sum(found), len(found)), _percent(sum(placed), len(placed))


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def _damage_table() -> Table:
    rows: list[tuple[str, ...]] = []
    for language, compiler in _COMPILERS.items():
        if shutil.which(compiler.command[0]) is None:
            continue
        refused: list[tuple[Sequence[Diagnostic], set[int]]] = []
        taken: list[bool] = []
        for text, line in _damaged(language, compiler):
            at = _refused_at(text, compiler)
            errors = check_cell(CheckRequest(language, text)).errors
            if at is None:
                taken.append(bool(errors))
            else:
                refused.append((errors, {line - 1, line, line + 1, at - 1, at, at + 1}))
        placed = [bool(errors) and errors[0].line in lines for errors, lines in refused]
        shares = _shares([bool(errors) for errors, _ in refused], placed)
        rows.append((language, compiler.command[0], *shares, f"{sum(taken)} of {len(taken)}"))
    return Table(
        "validation: random damage",
        f"{DAMAGES} published files a language, each with a token or line left out or doubled, or "
        "two tokens swapped (one seed); the language's own compiler says which do not parse. "
        "Placed: the first error is within a line of the damage or of the compiler's error.",
        ("language", "compiler", "refused by it", "found", "placed", "taken by it, refused here"),
        rows,
    )


def _damaged(language: str, compiler: Compiler) -> Iterator[tuple[str, int]]:
    """Yield damaged files and the line of the damage."""
    drawn = random.Random(language)  # noqa: S311  # the same damage every time
    files = [one for one in real_files(language).values() if _refused_at(one, compiler) is None]
    for _ in range(DAMAGES):
        text = drawn.choice(files)
        if drawn.random() < _LINES_SHARE:
            lines = text.split("\n")
            at = drawn.randrange(len(lines))
            lines[at : at + 1] = [lines[at]] * drawn.choice((0, 2))
            yield "\n".join(lines), at + 1
            continue
        tokens = [*_TOKEN.finditer(text)]
        at = drawn.randrange(len(tokens) - 1)
        one, other = tokens[at], tokens[at + 1]
        between = text[one.end() : other.start()]
        new = drawn.choice(
            (
                between + other[0],
                f"{one[0]} {one[0]}{between}{other[0]}",
                other[0] + between + one[0],
            )
        )
        damaged = text[: one.start()] + new + text[other.end() :]
        yield damaged, text.count("\n", 0, one.start()) + 1


def _refused_at(text: str, compiler: Compiler) -> int | None:
    """Return the line of the first error of syntax; None if the compiler parses the text."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"cell{compiler.suffix}")
        file.write_text(text, encoding="utf-8")
        command = [str(file) if one == "FILE" else one for one in compiler.command]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    found = compiler.refusal.search(done.stdout + done.stderr) if done.returncode else None
    return int(found[1]) if found else None
