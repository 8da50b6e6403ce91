from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core.errors import DeadlineExceeded, InvalidArgument
from rolltop.toolsets.retrieval.grep import ripgrep, verifier
from rolltop.toolsets.retrieval.grep.search import search
from rolltop.toolsets.retrieval.grep.verifier import MatchReader
from rolltop.toolsets.retrieval.models import Line, Query
from rolltop.workspace import FileStat, SkippedEntries
from tests.forks import PATIENCE
from tests.toolsets.retrieval.grep.witness import found, printed_sizes, trees_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rolltop.toolsets.retrieval.grep.ripgrep import LineMatch, Pattern
    from rolltop.toolsets.retrieval.grep.verifier import Preview


def test_hits_come_by_root_then_path_components_then_line(tmp_path: Path) -> None:
    for name in ("b/x", "b-/x", "b.c", "a/z/f", "a/Z", "é", "z"):
        for root in ("code", "docs", "more"):
            file = tmp_path / root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("one\nhit\nhit\n")
    trees = trees_of(tmp_path / "code", tmp_path / "docs", tmp_path / "more")
    hits = search(trees, Query("hit"), limit=1000).hits
    paths = ["a/Z", "a/z/f", "b/x", "b-/x", "b.c", "z", "é"]
    assert [(hit.repo, hit.path, hit.line) for hit in hits] == [
        (root, path, line) for root in ("docs", "code", "more") for path in paths for line in (2, 3)
    ]


def test_a_line_with_several_matches_is_one_hit(code: Path) -> None:
    (code / "a").write_text("no\nx x x\n")
    (hit,) = found(code, Query("x")).hits
    assert (hit.line, hit.preview) == (2, "x x x")


@pytest.mark.parametrize(
    "pattern", [r"(?xi)^\x {212A}$", r"(?x)^[\x {e9}k]$", r"^\p{L}$", "(?u)^\\w$"]
)
def test_ascii_is_matched_by_expressions_that_ask_for_unicode(code: Path, pattern: str) -> None:
    (code / "a").write_text("k\n")
    (hit,) = found(code, Query(pattern, regex=True)).hits
    assert hit.preview == "k"


def test_an_expression_that_takes_too_long_to_read_is_a_search_that_did(code: Path) -> None:
    slow = Query(r"\w" * 20_000, regex=True)
    with pytest.raises(DeadlineExceeded):
        search(trees_of(code), slow, limit=1, deadline=time.monotonic() + 0.2)


@pytest.mark.parametrize("count", [4, 150])
def test_an_empty_match_behind_a_last_cr_is_a_hit_like_any_other(code: Path, count: int) -> None:
    for number in range(count):
        (code / f"{number:03}").write_bytes(b"x\r" if number % 2 else b"a\n\nb\n")
    expected = [(f"{number:03}", 1 if number % 2 else 2) for number in range(count)]
    for text in ("^$", "^$|q"):
        hits = found(code, Query(text, regex=True)).hits
        assert [(hit.path, hit.line) for hit in hits] == expected


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6])
def test_more_is_true_exactly_when_there_is_more(code: Path, limit: int) -> None:
    (code / "a").write_text("x\n" * 3)
    (code / "b").write_text("x\n" * 2)
    answer = found(code, Query("x"), limit)
    assert (len(answer.hits), answer.more) == (min(limit, 5), limit < 5)


@pytest.mark.parametrize("limit", [3, 7, 100])
def test_pages_go_on_without_gaps_or_repeats(code: Path, limit: int) -> None:
    for number in range(90):
        (code / f"{number}").write_text("x\n" * (number % 5))
    whole = found(code, Query("x", context=1)).hits
    assert len(whole) == 180
    got = list[object]()
    after = None
    while True:
        page = search(trees_of(code), Query("x", context=1), limit=limit, after=after)
        got += page.hits
        if not page.more:
            break
        after = json.loads(json.dumps(page.resume(len(page.hits) - 1)))
    assert got == list(whole)


def test_a_page_may_go_on_after_any_of_its_hits(code: Path) -> None:
    (code / "a").write_text("x\n" * 9)
    (code / "b").write_text("x\n" * 9)
    first = found(code, Query("x"), 12)
    for index in (0, 5, 8, 9, 11):
        rest = search(trees_of(code), Query("x"), limit=99, after=first.resume(index))
        assert [*first.hits[: index + 1], *rest.hits] == list(found(code, Query("x")).hits)


def test_a_later_page_reads_no_more_lines_than_it_may_show(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (code / name).write_text("x\n" * 1000)
    after = found(code, Query("x"), 900).resume(899)
    listed, shown = list[int](), list[int]()
    find, preview = ripgrep.find_lines, MatchReader.preview

    def listing(*asked: Any) -> list[list[LineMatch] | None]:
        lines = find(*asked)
        listed.extend(len(one or ()) for one in lines)
        return lines

    def showing(reader: MatchReader, match: LineMatch, column: int) -> Preview:
        shown.append(match.line)
        return preview(reader, match, column)

    monkeypatch.setattr(ripgrep, "find_lines", listing)
    monkeypatch.setattr(MatchReader, "preview", showing)
    rest = search(trees_of(code), Query("x"), limit=150, after=after)
    assert [hit.path for hit in rest.hits] == ["a"] * 100 + ["b"] * 50
    assert (listed, len(shown)) == ([1000, 151, 151], 100 + 151)


def test_a_cursor_says_so_where_a_file_still_to_be_read_has_changed(code: Path) -> None:
    for name in ("a", "b", "c", "d.txt"):
        (code / name).write_text("x\nx\n")
    query = Query("x", file_glob="!*.txt")
    page = search(trees_of(code), query, limit=3)
    after = page.resume(2)

    def goes_on() -> bool:
        with suppress(InvalidArgument):
            search(trees_of(code), query, limit=3, after=after)
            return True
        return False

    (code / "a").write_text("x\nchanged\n")  # was read
    (code / "d.txt").write_text("x\nchanged\n")  # is not looked at
    assert goes_on()
    (code / "bb").write_text("x\n")
    assert not goes_on()
    (code / "bb").unlink()
    assert goes_on()
    (code / "c").rename(code / "cc")
    assert not goes_on()


def test_a_page_goes_on_when_files_change_that_are_never_read(code: Path) -> None:
    for name in ("a", "b"):
        (code / name).write_text("x\n")
    (code / "log").write_text("x" * 101)
    first = search(trees_of(code), Query("x"), limit=1, most_bytes=100)
    (code / "log").write_text("x" * 102)
    (code / os.fsdecode(b"\xff")).write_text("x\n")
    after = first.resume(0)
    (code / "log").write_text("x" * 103)
    (code / os.fsdecode(b"\xfe")).write_text("x\n")
    rest = search(trees_of(code), Query("x"), limit=9, most_bytes=100, after=after)
    assert [hit.path for hit in rest.hits] == ["b"]


@pytest.mark.parametrize(
    "after", [[], [1, 2], ["code", "a", 1, 1, 1], ["gone", "a", 1, 1, 1], ["code", "a", "1", 1, 1]]
)
def test_a_cursor_of_something_else_is_refused(code: Path, after: list[object]) -> None:
    (code / "a").write_text("x\nx\n")
    with pytest.raises(InvalidArgument) as refused:
        search(trees_of(code), Query("x"), limit=1, after=after)
    assert refused.value.code == "INVALID_CURSOR"


@pytest.mark.parametrize("line", [-500, 0, 1, 3, 10**30, True, 2.0])
def test_a_cursor_whose_line_was_bent_is_refused(code: Path, line: float) -> None:
    (code / "a").write_text("x\n" * 5)
    repo, path, _, checksum = found(code, Query("x"), 2).resume(1)
    with pytest.raises(InvalidArgument) as refused:
        search(trees_of(code), Query("x"), limit=1, after=[repo, path, line, checksum])
    assert refused.value.code == "INVALID_CURSOR"


def test_a_cursor_belongs_to_its_query(code: Path) -> None:
    (code / "a").write_text("x y\nx y\n")
    after = found(code, Query("x"), 1).resume(0)
    with pytest.raises(InvalidArgument):
        search(trees_of(code), Query("y"), limit=1, after=after)


def test_context_lines_are_those_around_in_the_file(code: Path) -> None:
    (code / "a").write_bytes(b"1\n2\r\n\nhit\r\n5\nhit")
    first, last = found(code, Query("hit", context=2)).hits
    assert first.before == (Line(2, "2"), Line(3, ""))
    assert first.after == (Line(5, "5"), Line(6, "hit"))
    assert (last.line, last.before, last.after) == (6, (Line(4, "hit"), Line(5, "5")), ())
    (code / "a").write_bytes(b"hit\n" + b"y" * 200_000 + b"\n" + b"z" * 100_000 + b"\nlast hit\n")
    first, last = found(code, Query("hit", context=2)).hits
    assert first.after == (Line(2, "y" * 399 + "…"), Line(3, "z" * 399 + "…"))
    assert last.before == first.after


def test_a_long_line_is_cut_around_its_match(code: Path) -> None:
    for at, size in (
        (0, 500),
        (250, 500),
        (450, 500),
        (5_000, 10_000),
        (9_990, 10_000),
        (300, 401),
    ):
        line = "ä" * at + "MATCH" + "ö" * (size - at - 5)
        (code / "a").write_text(f"first\n{line}\nlast\n")
        (hit,) = found(code, Query("MATCH")).hits
        shown = hit.preview
        assert len(shown) <= 400
        assert len(shown) > 390
        assert "MATCH" in shown
        assert shown.strip("…") in line
        assert shown.startswith("…") is not line.startswith(shown[:50])
        assert shown.endswith("…") is not line.endswith(shown[-50:])


def test_a_line_of_400_characters_is_not_cut(code: Path) -> None:
    (code / "a").write_text("x" * 399 + "é\n")
    assert found(code, Query("é")).hits[0].preview == "x" * 399 + "é"


def test_a_line_of_ten_megabytes_is_searched_and_shown_in_part(code: Path) -> None:
    (code / "a").write_bytes(b"a" * 5_000_000 + b"needle" + b"b" * 5_000_000 + b"\nafter needle")
    first, second = found(code, Query("needle", context=1)).hits
    assert first.preview.startswith("…aaa")
    assert "needle" in first.preview
    assert first.preview.endswith("b…")
    assert len(first.preview) == 400
    assert (second.line, second.preview) == (2, "after needle")
    assert found(code, Query("a")).hits[0].preview == "a" * 399 + "…"


def test_files_in_other_encodings_show_what_is_written_in_them(code: Path) -> None:
    (code / "latin").write_bytes("# Größe für Übergröße, naïve Façade\nkey = 1\n".encode("latin-1"))
    (code / "wide").write_bytes("\ufeffGröße\r\nkey ist größer\r\n".encode("utf-16-le"))
    (code / "mark").write_bytes("\ufeffkey am Anfang\nGröße key\n".encode())
    hits = found(code, Query("key", context=1)).hits
    assert [(hit.path, hit.line, hit.preview) for hit in hits] == [
        ("latin", 2, "key = 1"),
        ("mark", 1, "key am Anfang"),
        ("mark", 2, "Größe key"),
        ("wide", 2, "key ist größer"),
    ]
    assert hits[0].before == (Line(1, "# Größe für Übergröße, naïve Façade"),)
    assert hits[3].before == (Line(1, "Größe"),)
    # Matching is on the bytes as UTF-8: the bytes of Latin-1 are none.
    assert [hit.path for hit in found(code, Query("Größe")).hits] == ["mark", "wide"]


@pytest.mark.parametrize(
    ("before", "line", "encoding"),
    [
        ("-- plain ascii line\n" * 14_000, "-- Größe needle façade", "cp1252"),
        ("-- plain ascii line\n" * 300_000, "-- Größe needle façade", "cp1252"),
        ("-- plain ascii line\n" * 14_000, "日本語の文章です。 needle 読みやすい。", "cp932"),
        ("x" + "日本語の文章です。読みやすい。\n" * 10_000, "文章 needle 文章", "cp932"),
    ],
)
def test_what_is_not_ascii_is_shown_right_wherever_it_first_comes(
    code: Path, before: str, line: str, encoding: str
) -> None:
    (code / "a").write_bytes(f"{before}{line}\n".encode(encoding))
    assert [hit.preview for hit in found(code, Query("needle")).hits] == [line]


@pytest.mark.parametrize(
    "pattern",
    [
        "(a*)*b", "(a+)+$", "(a|a)*c", "(a|aa)+$", "((a+)+)+b", "(.*)*x", "(a?){50}a{50}b",
        r"(\w+\s?)+!", "(a{1,50}){1,50}b", r"(?i)(aa|ab|a)*\b!",
    ],
)  # fmt: skip
def test_no_expression_runs_away(code: Path, pattern: str) -> None:
    (code / "a").write_bytes(b"a" * 1_000_000 + b"\n" + b"aaaa " * 10_000 + b"\n")
    assert len(found(code, Query(pattern, regex=True)).hits) <= 2


@pytest.mark.parametrize(
    "pattern",
    [
        "function.*render|return", r"return(?:.*Component)?", r"return(.+class){0,1}",
        r"[|)*(]+Component|\)\{(?P<name>return)", "(?x) var .* await | return",
    ],
)  # fmt: skip
def test_a_line_of_many_matches_takes_no_time_by_the_square_of_its_length(
    code: Path, pattern: str
) -> None:
    parts = (f"function f{n}(a){{return a.x{n}}}var v=f(2);" for n in range(100_000))
    (code / "bundle.js").write_text("".join(parts))
    deadline = time.monotonic() + PATIENCE
    (hit,) = search(trees_of(code), Query(pattern, regex=True), limit=1, deadline=deadline).hits
    assert hit.preview[hit.at :].lstrip("){").startswith("return a.x0}")


@pytest.mark.parametrize(
    ("pattern", "at"),
    [
        ("needle|thread", 500),
        (r"(?x) n e e d l e | \#", 500),
        ("(?i)NEEDLE", 500),
        (r"(?-u:\xff)|needle", 250),
        (r"\b$", 1_000),
        ("x{3}n", 497),
    ],
)
def test_a_long_line_is_shown_around_its_first_match(code: Path, pattern: str, at: int) -> None:
    line = "x" * 250 + "ÿ" + "x" * 249 + "needle" + "x" * 400 + "needle" + "x" * 88
    (code / "a").write_text(f"{line}\n", encoding="latin-1")
    (hit,) = found(code, Query(pattern, regex=True)).hits
    shown = hit.preview[hit.at :].removesuffix("…")
    assert len(hit.preview) >= 399
    assert shown[1:] == line[at + 1 : at + len(shown)]  # the first is another letter elsewhere


@pytest.mark.parametrize(
    ("text", "code_of_it"),
    [
        ("", "QUERY_EMPTY"), (" \t", "QUERY_EMPTY"), ("a\nb", "QUERY_INVALID"),
        ("a\r", "QUERY_INVALID"), ("(", "QUERY_INVALID"), ("[z-a]", "QUERY_INVALID"),
        ("(?=a)", "QUERY_INVALID"), (r"(a)\1", "QUERY_INVALID"), (r"a\nb", "QUERY_INVALID"),
        (r"\p{Nonsense}", "QUERY_INVALID"), ("a\ud800", "QUERY_INVALID"),
    ],
)  # fmt: skip
def test_a_query_that_cannot_be_used_is_refused(code: Path, text: str, code_of_it: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        found(code, Query(text, regex=True))
    assert refused.value.code == code_of_it
    assert refused.value.hint


def test_a_literal_is_taken_as_it_is(code: Path) -> None:
    (code / "a").write_text("a.b(c\n-e --x\naxb\n")
    assert [hit.line for hit in found(code, Query("a.b(")).hits] == [1]
    assert [hit.line for hit in found(code, Query("-e")).hits] == [2]


def test_a_search_past_its_deadline_says_so(library: Path) -> None:
    with pytest.raises(DeadlineExceeded):
        search(trees_of(library), Query("zzqx"), limit=1, deadline=0.0)


def test_a_search_looks_at_the_clock_while_it_reads(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        (code / f"f{number}").write_text("needle\n")
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    with pytest.raises(DeadlineExceeded):
        search(trees_of(code), Query("needle"), limit=100, deadline=20.0)
    assert next(ticks) < 30


def test_a_search_looks_at_the_clock_while_it_lists(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def endless(_skipped: SkippedEntries) -> Iterator[FileStat]:
        for number in count():
            yield FileStat(f"f{number}", 1, 1, 1, 1, 1)

    (tree,) = trees_of(code)
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    with pytest.raises(DeadlineExceeded):
        search(
            [replace(tree, files=endless)],
            Query("needle", file_glob="*.nothing"),
            limit=1,
            deadline=20.0,
        )


@pytest.mark.parametrize("start", [b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf"])
def test_a_line_that_begins_as_a_file_of_another_encoding_is_shown_where_it_matches(
    code: Path, start: bytes
) -> None:
    for name in ("a", "b"):
        lines = b"x" * 1500 + b"needle", b"needle" + b"y" * 1500, b"z" * 900 + b"needle"
        (code / name).write_bytes(b"first\n" + b"".join(start + line + b"\n" for line in lines))
    hits = found(code, Query("ne+dle", regex=True)).hits
    assert [hit.preview[hit.at : hit.at + 6] for hit in hits] == ["needle"] * 6


def test_long_lines_are_searched_a_few_at_a_time(
    code: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    find = ripgrep.find_columns

    def counted(pattern: Pattern, lines: Sequence[bytes], deadline: float) -> dict[int, int]:
        asked.append(sum(map(len, lines)))
        return find(pattern, lines, deadline)

    monkeypatch.setattr(ripgrep, "find_columns", counted)
    monkeypatch.setattr(verifier, "MAX_LINE_BYTES", 4000)
    for name in "abc":
        (code / name).write_text(("x" * 900 + "needle\n") * 10)
    hits = found(code, Query("ne+dle", regex=True)).hits
    assert [hit.preview[hit.at :] for hit in hits] == ["needle"] * 30
    assert max(asked) < 2 * 4000


@pytest.mark.parametrize(
    "query",
    [
        Query("needle"),
        Query("NEEDLE", case="ignore"),
        Query("ne+dle", regex=True),
        Query("needle$", regex=True),
    ],
)
def test_a_line_is_shown_where_it_matches_however_far(
    code: Path, monkeypatch: pytest.MonkeyPatch, query: Query
) -> None:
    monkeypatch.setattr(verifier, "MAX_LINE_BYTES", 4000)
    far = "é" * 2000
    # The second match lies across the limit.
    text = f"{far}{far}needle\n{far[1:]}needle\n\n{far}é needle"
    for name, encoding in (("a", "utf-8"), ("b", "utf-8-sig"), ("c", "utf-16")):
        (code / name).write_text(text, encoding=encoding)
    hits = found(code, query).hits
    assert [hit.preview[hit.at :] for hit in hits] == ["needle"] * 9


def test_the_end_of_a_dump_in_one_line_is_shown(code: Path) -> None:
    (code / "a.json").write_bytes(b"x" * (verifier.MAX_LINE_BYTES + 1) + b"needle")
    (hit,) = found(code, Query("needle")).hits
    assert hit.preview[hit.at :] == "needle"


@pytest.mark.parametrize(("text", "regex"), [("A", False), ("a.c", False), ("a.", True)])
def test_of_a_long_line_only_the_first_match_is_listed(
    code: Path, monkeypatch: pytest.MonkeyPatch, text: str, *, regex: bool
) -> None:
    (code / "a").write_text("-" * 500 + "a.c" * 100_000)
    sizes = printed_sizes(monkeypatch)
    (hit,) = found(code, Query(text, regex=regex, case="ignore")).hits
    assert hit.preview[hit.at - 2 : hit.at + 3] == "--a.c"
    assert max(sizes) < 1000


def test_a_file_that_vanished_hides_no_other_though_its_name_has_a_line_break(code: Path) -> None:
    (code / "b").write_text("needle\n")
    (tree,) = trees_of(code)
    gone = [FileStat(name, 9, 1, 1, 1, 1) for name in ("a\nb", "a\n\n: c")]

    def files(skipped: SkippedEntries) -> list[FileStat]:
        return [*gone, *tree.files(skipped)]

    answer = search([replace(tree, files=files)], Query("needle"), limit=9)
    assert [hit.path for hit in answer.hits] == ["b"]
    assert answer.skipped.changed == 2


def test_nothing_found_says_what_was_searched(code: Path) -> None:
    sizes = {"a": 10, "b": 20, "sub/c": 30}
    for name, size in sizes.items():
        (code / name).parent.mkdir(exist_ok=True)
        (code / name).write_bytes(b"y" * size)
    (code / "binary").write_bytes(b"y\0")
    (code / ".hidden").write_bytes(b"needle")
    (code / "large").write_bytes(b"needle" * 200)
    answer = search(trees_of(code), Query("needle"), limit=5, most_bytes=1000)
    assert (answer.hits, answer.files, answer.bytes) == ((), 3, 60)
    assert (answer.skipped.binary, answer.skipped.too_large) == (1, 1)
    glob = search(trees_of(code), Query("needle", file_glob="sub/"), limit=5)
    assert (glob.files, glob.bytes, glob.skipped.binary) == (1, 30, 0)


@pytest.mark.parametrize("query", [Query("needle"), Query("need.e", regex=True)])
def test_binary_files_are_counted_in_large_trees_too(code: Path, query: Query) -> None:
    for number in range(300):
        (code / f"text{number}").write_bytes(b"x" * 9000 + b"\0")
        if not number % 3:
            (code / f"binary{number}").write_bytes(b"x\0")
    answer = found(code, query)
    assert (answer.files, answer.bytes, answer.skipped.binary) == (300, 300 * 9001, 100)
