"""Searches that no index narrows look at directories as such: they find what is in the files."""

from __future__ import annotations

import os
import random
import re
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.toolsets.retrieval.exact import looking, ripgrep, search
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.models import Query
from tests.campaign import examples
from tests.core.roots.test_roots_locate import unprivileged
from tests.toolsets.retrieval.exact.test_sweeping import mixed
from tests.toolsets.retrieval.trigrams.indexed import Indexed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["mixed"]

pytestmark = pytest.mark.usefixtures("any_number")

FILES = 8
QUERIES = (
    Query("ee"),
    Query("q;"),
    Query("DL", case="ignore"),
    Query("^n.e.l.$", regex=True),
    Query("q[;,]", regex=True),
    Query("ö"),
    Query("你"),
    Query("ee", file_glob="*.txt"),
    Query("q;", file_glob="!*.c"),
)


@pytest.fixture
def any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look first at any number of files, and name their directories."""
    monkeypatch.setattr(looking, "READ_AT_ONCE", 1)
    monkeypatch.setattr(looking, "_NAMED_BY_FOLDERS", 1)
    monkeypatch.setattr(looking, "_LOOKED_AT_ONCE", (1 << 14,))


class Runs:
    """What ripgrep is given by name, and what happens before each such run and after it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.named: list[list[bytes]] = []
        self.before: Callable[[], object] = int
        self.after: Callable[[], object] = int
        begin, result = ripgrep.Run.__init__, ripgrep.Run.result
        looks = set[ripgrep.Run]()

        def begun(run: ripgrep.Run, *asked: Any, **more: Any) -> None:
            if "directory" in more:
                self.before()
                self.named.append(sorted(asked[2]))
                looks.add(run)
            begin(run, *asked, **more)

        def ended(run: ripgrep.Run, timeout: float) -> tuple[bytes, bytes]:
            found = result(run, timeout)
            if run in looks:
                self.after()
            return found

        monkeypatch.setattr(ripgrep.Run, "__init__", begun)
        monkeypatch.setattr(ripgrep.Run, "result", ended)

    def clear(self) -> None:
        """Forget what was named, and do nothing any more."""
        self.named.clear()
        self.before = self.after = int


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(monkeypatch)


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_answer_is_the_one_over_the_list_of_files(
    quick: None,  # noqa: ARG001  # for its effect
    mixed: Path,
    query: Query,
) -> None:
    tree = Indexed(mixed.parent / "kept", mixed)
    tree.build()
    try:
        named = tree.find(query)
        by_name = [replace(live, folders=None) for live in tree.live()]
        expected = search(by_name, query, limit=10_000)
        assert (named.hits, named.more) == (expected.hits, expected.more)
        if not named.hits:
            assert (named.files, named.bytes) == (expected.files, expected.bytes)
            assert named.skipped == expected.skipped
    finally:
        tree.indexes.close()


def fill(code: Path) -> list[str]:
    """Write files, half of which match, in folders that are taken whole but for one."""
    paths: list[str] = []
    for folder in ("a", "a/in", "b", "part"):
        (code / folder).mkdir(exist_ok=True)
        for number in range(FILES):
            path = f"{folder}/f{number}.c"
            (code / path).write_text("q;\n" if number % 2 else "nothing\n")
            paths.append(path)
    (code / "part" / "x.out").write_text("q;\n")
    (code / ".gitignore").write_text("*.out\n")
    return paths


MATCHING = {f"{folder}/f{n}.c" for folder in ("a", "a/in", "b", "part") for n in (1, 3, 5, 7)}
SHORT = Query("q;")
BY_EXPRESSION = Query("q[;,]", regex=True)
both_ways = pytest.mark.parametrize("query", [SHORT, BY_EXPRESSION], ids=["text", "expression"])


@pytest.fixture
def filled(indexed: Indexed, code: Path) -> Indexed:
    """Return the folder's index, complete, when its directories have come to rest."""
    fill(code)
    indexed.build()
    end = time.monotonic() + 60
    while len(whole_folders(indexed)) < 3:
        assert time.monotonic() < end
        threading.Event().wait(0.01)
    return indexed


def whole_folders(tree: Indexed) -> set[str]:
    look = tree.indexes.look(tree.roots.named[0])
    look.candidates(SHORT)
    return set(look.whole_folders())


def found(tree: Indexed, query: Query) -> set[str]:
    return {hit.path for hit in tree.find(query).hits}


@both_ways
def test_directories_are_named_in_place_of_their_files(
    filled: Indexed, runs: Runs, query: Query
) -> None:
    assert found(filled, query) == MATCHING
    (named,) = runs.named
    assert named == [b"./a", b"./a/in", b"./b", *(b"./part/f%d.c" % n for n in range(FILES))]


@both_ways
def test_files_of_long_names_are_given_a_few_at_a_time(
    filled: Indexed, runs: Runs, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    monkeypatch.setattr(looking, "ARGUMENT_BYTES", 64)
    assert found(filled, query) == MATCHING
    assert runs.named  # of a text, where most files match, the rest is read without a look
    assert all(len(named) <= 4 for named in runs.named)


@both_ways
def test_a_directory_of_which_a_part_is_asked_for_is_not_named(
    filled: Indexed, runs: Runs, query: Query
) -> None:
    query = Query(query.text, regex=query.regex, file_glob="f[0-5].c")
    assert len(found(filled, query)) == 12
    assert all(name.endswith(b".c") for name in runs.named[0])


def aside(code: Path, text: str = "q;\n") -> None:
    """Take a file out of the folders, and put another in its place."""
    (code / "a" / "f3.c").rename(code / ".aside")
    (code / "b" / "new.c").write_text(text)


def back(code: Path) -> None:
    """Put things as they were."""
    if (code / ".aside").exists():
        (code / ".aside").rename(code / "a" / "f3.c")
        (code / "b" / "new.c").unlink()


@both_ways
@pytest.mark.parametrize("text", ["q;\n", "nothing\n"])
def test_a_file_that_was_away_for_a_moment_is_found(
    filled: Indexed, code: Path, runs: Runs, query: Query, text: str
) -> None:
    def before() -> None:
        runs.before = int
        aside(code, text)

    runs.before, runs.after = before, lambda: back(code)
    assert found(filled, query) == MATCHING


def test_directories_that_another_search_has_listed_since_are_not_relied_on(
    filled: Indexed, code: Path
) -> None:
    earlier, later = (filled.indexes.look(filled.roots.named[0]) for _ in range(2))
    earlier.candidates(SHORT)
    assert len(earlier.whole_folders()) == 3
    (code / "a" / "f3.c").rename(code / "a" / "f3b.c")
    later.candidates(SHORT)
    assert not earlier.whole_folders()
    assert "b" in later.whole_folders()


def test_files_are_read_no_further_than_to_their_first_match(code: Path) -> None:
    (code / "long.c").write_text("q;\n" * (1 << 20))
    run = ripgrep.names_run(expression(SHORT), [b""], str(code), in_folders=True)
    searched = re.search(rb"(\d+) bytes searched", run.result(60)[0])
    assert searched is not None
    assert int(searched[1]) < 1 << 20


@both_ways
def test_what_comes_in_and_goes_out_meanwhile_is_no_line_of_the_answer(
    filled: Indexed, code: Path, runs: Runs, query: Query
) -> None:
    runs.before = lambda: (code / ".aside").exists() or aside(code)
    assert found(filled, query) == MATCHING - {"a/f3.c"}
    runs.clear()
    assert found(filled, query) == MATCHING - {"a/f3.c"} | {"b/new.c"}


@both_ways
def test_a_directory_that_becomes_a_link_leads_nowhere(
    filled: Indexed, code: Path, runs: Runs, query: Query
) -> None:
    def before() -> None:
        runs.before = int
        (code / "b").rename(code.parent / "moved")
        (code / "b").symlink_to(code.parent / "moved")

    runs.before = before
    assert found(filled, query) == {path for path in MATCHING if not path.startswith("b/")}


@both_ways
def test_a_file_that_is_written_meanwhile_is_found(
    filled: Indexed, code: Path, runs: Runs, query: Query
) -> None:
    file = code / "a" / "f2.c"
    runs.after = lambda: file.write_text("q;\n" * 2)
    assert found(filled, query) >= MATCHING
    runs.clear()
    assert found(filled, query) == MATCHING | {"a/f2.c"}


@both_ways
def test_files_that_may_not_be_read_are_counted(
    quick: None,  # noqa: ARG001  # for its effect
    query: Query,
) -> None:
    with TemporaryDirectory() as name:
        code = Path(os.path.realpath(name)) / "code"
        code.mkdir()
        code.parent.chmod(0o755)
        fill(code)
        tree = Indexed(code.parent / "kept", code)
        tree.build()
        (code / "a" / "f2.c").chmod(0)
        with unprivileged():
            answer = tree.find(query)
        tree.indexes.close()
    assert {hit.path for hit in answer.hits} == MATCHING
    assert answer.skipped.unreadable == 1


@both_ways
def test_binary_files_that_the_index_does_not_know_are_counted(
    filled: Indexed, code: Path, query: Query
) -> None:
    query = replace(query, text=query.text.replace("q", "q!"))
    assert filled.find(query).skipped.binary == 0
    (code / "a" / "new.c").write_bytes(b"text\n\0")
    answer = filled.find(query)
    assert (answer.hits, answer.skipped.binary) == ((), 1)
    filled.build()
    assert filled.find(query).skipped.binary == 1


def disturb(code: Path, drawn: random.Random, paths: Sequence[str]) -> set[str]:
    """Do a thing to some file or folder; return the paths whose files are not as they were."""
    path = drawn.choice(paths)
    file = code / path
    act = drawn.randrange(7)
    if act == 0:
        file.unlink(missing_ok=True)
    elif act == 1:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(drawn.choice(("q;\n", "nothing\n", "")))
    elif act == 2 and file.exists():
        other = code / drawn.choice(paths)
        if other.parent.is_dir():
            file.replace(other)
            return {path, other.relative_to(code).as_posix()}
    elif act == 3 and file.exists():
        file.rename(code / ".aside")
        (code / ".aside").rename(file)
    elif act == 4 and file.parent.is_dir():
        (file.parent / f"new{drawn.randrange(9)}.c").write_text("q;\n")
        return set()
    elif act == 5 and file.parent.is_dir():
        file.parent.rename(code / ".folder")
        (code / ".folder").rename(file.parent)
        return set()
    elif act == 6:
        inside = {one.relative_to(code).as_posix() for one in file.parent.rglob("*.c")}
        shutil.rmtree(file.parent, ignore_errors=True)
        return inside
    return {path}


@pytest.mark.parametrize("seed", range(examples(6)))
def test_what_nobody_touches_is_found_whatever_happens_to_others(
    indexed: Indexed, code: Path, runs: Runs, seed: int
) -> None:
    drawn = random.Random(seed)  # noqa: S311  # the same things in each run
    paths = fill(code)
    indexed.build()
    for _ in range(12):
        touched: set[str] = set()

        def act(touched: set[str] = touched) -> None:
            for _ in range(drawn.randrange(3)):
                touched |= disturb(code, drawn, paths)

        before = matching_now(code)
        runs.before, runs.after = act, act
        answer = found(indexed, drawn.choice((SHORT, BY_EXPRESSION)))
        runs.clear()
        assert answer >= before - touched
        assert answer <= before | matching_now(code) | touched
        assert found(indexed, drawn.choice((SHORT, BY_EXPRESSION))) == matching_now(code)


def matching_now(code: Path) -> set[str]:
    """Return the files that match now, but for those left out."""
    files = [file for file in code.rglob("*.c") if "q;" in file.read_text()]
    return {file.relative_to(code).as_posix() for file in files}
