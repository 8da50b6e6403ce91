"""A search of a tree of which nothing is known, against one over the list of its files."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import Invalid
from rolltop.core.roots import Roots
from rolltop.toolsets.retrieval.exact import Tree, search
from rolltop.toolsets.retrieval.models import Hit, Query
from tests.core.roots.test_roots_locate import unprivileged
from tests.toolsets.retrieval.exact.witness import trees_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rolltop.core.roots import Entry, Listed, Skipped

MANY = 80
QUERIES = (
    Query("needle"),
    Query("absent"),
    Query("NEEDLE", case="ignore"),
    Query("^needle$", regex=True),
    Query("abs[e]nt", regex=True),
    Query("Größe"),
    Query("你好"),
    Query("needle", file_glob="*.txt"),
    Query("absent", file_glob="!*.txt"),
)


@pytest.fixture
def mixed(code: Path) -> Path:
    """Folders taken whole, folders with files left out, and files in every writing."""
    for number in range(MANY):
        text = "needle\n" if number % 5 == 0 else "nothing\n"
        for name in (f"whole/f{number}.c", f"part/f{number}.c", f"whole/in/f{number}.txt"):
            (code / name).parent.mkdir(parents=True, exist_ok=True)
            (code / name).write_text(text)
    (code / "part" / "left.out").write_text("needle\n")
    (code / "out").mkdir()
    (code / "out" / "file").write_text("needle\n")
    (code / "zz.c").write_text("needle\n")
    (code / ".hidden").write_text("needle\n")
    (code / "whole" / ".hidden").write_text("needle\n")
    (code / "whole" / "large.png").write_bytes(b"\0" * (1 << 19) + b"needle\n")
    (code / "whole" / "large.data").write_bytes(b"x\n" * (1 << 18) + b"needle\n")
    (code / ".gitignore").write_text("*.out\nout/\n")
    odd = code / "whole" / "odd"
    odd.mkdir()
    (odd / "marked").write_bytes(b"\xef\xbb\xbfneedle\nGr\xc3\xb6\xc3\x9fe\n")
    (odd / "utf16").write_bytes("\ufeffneedle\nGröße".encode("utf-16-le"))
    (odd / "no zeros").write_bytes(b"\xff\xfe" + "你好".encode("utf-16-le"))
    (odd / "binary").write_bytes(b"\0needle\n")
    (odd / "late").write_bytes(b"x\n" * 10_000 + b"\0\nneedle\n")
    (odd / "large.png").write_bytes(b"\0" * (1 << 19) + b"needle\n")
    (odd / "empty").touch()
    os.mkfifo(odd / "fifo")
    (odd / "link").symlink_to("marked")
    (odd / os.fsdecode(b"no utf-8 \xff")).write_text("needle\n")
    return code


@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_the_answer_is_the_one_over_the_list_of_files(mixed: Path, query: Query) -> None:
    (tree,) = trees_of(mixed)
    swept = search([tree], query, limit=30)
    listed = search([replace(tree, folders=None)], query, limit=30)
    assert (swept.hits, swept.more) == (listed.hits, listed.more)
    if not swept.hits:
        assert (swept.files, swept.bytes) == (listed.files, listed.bytes)
        assert swept.skipped == listed.skipped
    if swept.hits:
        assert swept.resume(len(swept.hits) - 1) == listed.resume(len(listed.hits) - 1)


def test_pages_hold_what_one_answer_holds(mixed: Path) -> None:
    query = Query("needle")
    whole = search(trees_of(mixed), query, limit=1000).hits
    pages: list[Hit] = []
    after: tuple[Any, ...] | None = None
    while True:
        page = search(trees_of(mixed), query, limit=10, after=after)
        pages += page.hits
        if not page.more:
            break
        after = page.resume(9)
    assert tuple(pages) == whole


def test_files_beyond_the_limit_of_size_are_passed_by(code: Path) -> None:
    for number in range(MANY):
        (code / f"f{number}").write_text("needle\n" if number % 2 else "nothing\n")
    (code / "large").write_text("needle\n" + "x" * 1000)
    (tree,) = trees_of(code)
    found = search([tree], Query("needle"), limit=1000, most_bytes=1000)
    assert len(found.hits) == MANY // 2
    nothing = search([tree], Query("absent"), limit=1000, most_bytes=1000)
    assert (nothing.files, nothing.skipped.too_large) == (MANY, 1)


def changing(code: Path, change: Callable[[], None]) -> Tree:
    """Return a tree in which something changes once its directories were listed."""
    roots = Roots.open({"code": code}, base=code)
    root = roots.named[0]

    def folders(start: str, skipped: Skipped) -> Iterator[Listed]:
        listed = list(roots.directories(root, start=start, skipped=skipped))
        change()
        yield from listed

    return replace(Tree.live(roots, root), folders=folders)


def test_what_comes_into_a_folder_meanwhile_is_no_file_of_the_search(code: Path) -> None:
    for number in range(MANY):
        (code / f"f{number}.c").write_text("needle\n")

    def change() -> None:
        (code / "f7.c").unlink()
        (code / "new.c").write_text("needle\n")

    found = search([changing(code, change)], Query("needle"), limit=1000)
    assert {hit.path for hit in found.hits} == {f"f{n}.c" for n in range(MANY) if n != 7}


def test_a_folder_that_becomes_a_link_leads_nowhere(code: Path) -> None:
    for number in range(MANY):
        for name in (f"f{number}.c", f"sub/f{number}.c"):
            (code / name).parent.mkdir(exist_ok=True)
            (code / name).write_text("needle\n")

    def change() -> None:
        (code / "sub").rename(code.parent / "moved")
        (code / "sub").symlink_to(code.parent / "moved")

    found = search([changing(code, change)], Query("needle"), limit=1000)
    assert {hit.path for hit in found.hits} == {f"f{number}.c" for number in range(MANY)}


def test_a_file_that_may_not_be_read_is_counted() -> None:
    with TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        folder.chmod(0o755)
        for number in range(MANY):
            (folder / f"f{number}").write_text("nothing\n")
        (folder / "f3").chmod(0)
        with unprivileged():
            found = search(trees_of(folder), Query("needle"), limit=1)
    assert (found.files, found.skipped.unreadable) == (MANY - 1, 1)


def test_a_file_that_changes_before_all_are_listed_ends_the_paging(code: Path) -> None:
    for name in "ab":
        (code / f"{name}.txt").write_text("needle\n" * 3)
    (tree,) = trees_of(code)

    def files(skipped: Skipped) -> Iterable[Entry]:
        """List the files as they are after the page was read."""
        (code / "a.txt").write_text("needle\n" * 2)
        return tree.files(skipped)

    page = search([replace(tree, files=files)], Query("needle"), limit=2)
    with pytest.raises(Invalid, match="changed"):
        search([tree], Query("needle"), limit=9, after=page.resume(1))


def test_one_that_stays_as_it_was_read_is_gone_on_with(code: Path) -> None:
    for name in "ab":
        (code / f"{name}.txt").write_text("needle\n" * 3)
    (tree,) = trees_of(code)

    def files(skipped: Skipped) -> Iterable[Entry]:
        (code / "c.txt").write_text("needle\n")
        return tree.files(skipped)

    page = search([replace(tree, files=files)], Query("needle"), limit=2)
    after = page.resume(1)
    rest = search([tree], Query("needle"), limit=9, after=after)
    assert [(hit.path, hit.line) for hit in rest.hits] == [
        ("a.txt", 3), ("b.txt", 1), ("b.txt", 2), ("b.txt", 3), ("c.txt", 1),
    ]  # fmt: skip
