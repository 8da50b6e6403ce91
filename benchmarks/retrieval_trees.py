"""Trees of files with questions whose one right place in them is known.

Three kinds, none written for a search: the first line of a docstring means the function it was
taken out of; the title of a section means the text it stood over; the first line of a commit
means the files the commit changed. What a question was taken from is taken out of the files.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import random
import re
import shutil
import subprocess
from dataclasses import dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolltop.documents.outline import detect_file_type, parse_outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

MAX_QUESTIONS: Final = 80
"""Questions of a tree."""

TUNING_PACKAGES: Final = ("docutils", "pypdf", "alembic", "rich", "email", "asyncio")
TESTING_PACKAGES: Final = (
    "sqlalchemy", "hypothesis", "_pytest", "pydantic", "mcp", "pygments", "psycopg",
)  # fmt: skip
_MANUALS: Final = Path("/usr/share/cmake-3.25/Help")
_SEED: Final = 20261122
_WORD: Final = re.compile(r"[A-Za-z]{2,}")
_SHORTEST_FUNCTION: Final = 4
_MIN_WORDS: Final = 4
_MAX_WORDS: Final = 25
_SHORTEST_SECTION: Final = 200
_NO_TITLE: Final = "Part"
_MOST_CHANGED: Final = 8
_SOURCES: Final = ("src/", "docs/", "benchmarks/", "scripts/")


@dataclass(frozen=True)
class Span:
    """Lines of a file, 1-based and inclusive; `end` 0 stands for the whole file."""

    path: str
    start: int = 1
    end: int = 0


@dataclass(frozen=True)
class Question:
    """What is asked, and the places that answer it."""

    text: str
    answers: tuple[Span, ...]


@dataclass(frozen=True)
class QuestionTree:
    """Files by their paths, and questions about them; `places` where lines are known."""

    name: str
    files: dict[str, str]
    questions: tuple[Question, ...]
    places: bool = True


def tuning_trees() -> list[QuestionTree]:
    """Return the trees that weights may be chosen on."""
    manuals = {
        str(path.relative_to(_MANUALS)): path.read_text(encoding="utf-8")
        for part in ("manual", "module", "guide")
        for path in sorted((_MANUALS / part).rglob("*.rst"))
    }
    return [*map(_package, TUNING_PACKAGES), *([_sections("manuals", manuals)] if manuals else [])]


def testing_trees() -> list[QuestionTree]:
    """Return the trees that nothing was chosen on."""
    described = {
        f"{one.name}/README.{_ending(text)}": text
        for one in distributions()
        if (text := (one.read_text("METADATA") or "").partition("\n\n")[2])
    }
    return [*map(_package, TESTING_PACKAGES), _sections("READMEs", described), _commits()]


def _package(name: str) -> QuestionTree:
    """Return a package's sources without the docstrings that are asked for."""
    found = importlib.util.find_spec(name)
    assert found is not None, f"{name} is not installed"
    assert found.origin is not None
    folder = Path(found.origin).parent
    files = {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
        if not {"test", "tests"} & set(path.relative_to(folder).parts)
    }
    documented = [one for path, text in files.items() for one in _documented(path, text)]
    everything = "\n".join(" ".join(text.split()) for text in files.values())
    once = [one for one in documented if everything.count(one[0].text) == 1]
    chosen = _sample(once)
    for question, docstring in chosen:
        path = question.answers[0].path
        files[path] = _blanked(files[path], docstring)
    return QuestionTree(f"docstring → function: {name}", files, tuple(q for q, _ in chosen))


def _documented(path: str, text: str) -> Iterator[tuple[Question, Span]]:
    """Yield functions' summaries with where their docstrings are."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        summary = " ".join((ast.get_docstring(node) or "").partition("\n\n")[0].split())
        first = node.body[0]
        end = first.end_lineno or first.lineno
        long = (node.end_lineno or end) - end >= _SHORTEST_FUNCTION
        if long and first.lineno > node.lineno and _is_question(summary):
            span = Span(path, node.lineno, node.end_lineno or end)
            yield Question(summary, (span,)), Span(path, first.lineno, end)


def _sections(name: str, files: dict[str, str]) -> QuestionTree:
    """Return documents without the titles that are asked for, at most three of each."""
    found: list[tuple[Question, Span]] = []
    for path, text in files.items():
        of_file = list(_titled(path, text))
        found += _sample(of_file)[:3]
    titles = [question.text.casefold() for question, _ in found]
    chosen = _sample([one for one in found if titles.count(one[0].text.casefold()) == 1])
    kept = dict(files)
    for question, title in chosen:
        lines = kept[title.path].split("\n")
        line = lines[title.start - 1]
        lines[title.start - 1] = line.replace(question.text, _NO_TITLE)
        kept[title.path] = "\n".join(lines)
    return QuestionTree(f"title → section: {name}", kept, tuple(q for q, _ in chosen))


def _titled(path: str, text: str) -> Iterator[tuple[Question, Span]]:
    lines = text.split("\n")
    found = parse_outline(text, detect_file_type(path, text)).sections
    for at, section in enumerate(found):
        own_end = found[at + 1].start_line - 1 if at + 1 < len(found) else section.end_line
        body = "\n".join(lines[section.start_line : own_end])
        title = next(
            (
                number
                for number in (section.start_line, section.start_line + 1)
                if number <= len(lines) and section.title in lines[number - 1]
            ),
            None,
        )
        long = len(body) >= _SHORTEST_SECTION and len(_WORD.findall(section.title)) > 1
        if long and title is not None and text.count(section.title) == 1:
            span = Span(path, section.start_line, own_end)
            yield Question(section.title, (span,)), Span(path, title, title)


def _commits() -> QuestionTree:
    """Return this repository's files, and the first lines of commits that changed few of them."""
    top = Path(__file__).parents[1]
    tracked = _git(top, "ls-files", "-z", *_SOURCES).split("\0")
    files = {
        path: (top / path).read_text(encoding="utf-8", errors="replace")
        for path in tracked
        if path.endswith((".py", ".md")) and (top / path).is_file()
    }
    questions: list[tuple[Question, Span]] = []
    for record in _git(top, "log", "--no-merges", "--name-only", "--format=%x01%s").split("\1")[1:]:
        subject, _, names = record.partition("\n")
        changed = [Span(name) for name in names.split() if name in files]
        if 0 < len(changed) <= _MOST_CHANGED and _is_question(subject):
            questions.append((Question(subject, tuple(changed)), changed[0]))
    chosen = _sample(questions)
    return QuestionTree(
        "commit → file: this repository", files, tuple(q for q, _ in chosen), places=False
    )


def _git(top: Path, *arguments: str) -> str:
    program = shutil.which("git")
    assert program is not None, "git is not installed"
    return subprocess.run(
        (program, "-C", str(top), *arguments), check=True, capture_output=True, text=True
    ).stdout


def _blanked(text: str, span: Span) -> str:
    """Return the text with empty lines in place of some."""
    lines = text.split("\n")
    lines[span.start - 1 : span.end] = [""] * (span.end - span.start + 1)
    return "\n".join(lines)


def _sample(found: Iterable[tuple[Question, Span]]) -> list[tuple[Question, Span]]:
    """Return questions drawn the same way every time, each text once."""
    once = {question.text.casefold(): (question, span) for question, span in found}
    ordered = sorted(once.values(), key=lambda one: hashlib.sha256(one[0].text.encode()).digest())
    random.Random(_SEED).shuffle(ordered)  # noqa: S311  # a sample, not a secret
    return ordered[:MAX_QUESTIONS]


def _is_question(text: str) -> bool:
    return _MIN_WORDS <= len(_WORD.findall(text)) <= _MAX_WORDS


def _ending(text: str) -> str:
    return "md" if re.search(r"^#{1,3} \S", text, re.MULTILINE) else "rst"
