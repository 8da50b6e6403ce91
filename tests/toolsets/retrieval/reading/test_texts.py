"""repo_open_file and repo_get_snippet: ranges, pieces, encodings, line ends, hashes."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest

TEN = "".join(f"line {n}\n" for n in range(1, 11))


def test_a_file_is_answered_whole_with_its_hash(forest: Forest) -> None:
    forest.put("code/src/a.py", TEN)
    answer = forest.ok("repo_open_file", path="src/a.py")
    assert answer["result"] == {
        "repo": "code",
        "path": "src/a.py",
        "uri": "rolltop://file/code/src/a.py",
        "start_line": 1,
        "end_line": 10,
        "text": TEN,
        "total_lines": 10,
        "sha256": hashlib.sha256(TEN.encode()).hexdigest(),
    }
    assert answer["meta"]["repo"] == "code"


def test_a_snippet_is_its_lines_both_included(forest: Forest) -> None:
    forest.put("code/a.py", TEN)
    result = forest.ok("repo_get_snippet", path="a.py", start_line=3, end_line=5)["result"]
    assert (result["start_line"], result["end_line"]) == (3, 5)
    assert result["text"] == "line 3\nline 4\nline 5\n"
    assert result["total_lines"] == 10


def test_the_end_is_clamped_to_the_file(forest: Forest) -> None:
    forest.put("code/a.py", TEN.rstrip("\n"))
    result = forest.ok("repo_get_snippet", path="a.py", start_line=9, end_line=10**9)["result"]
    assert (result["start_line"], result["end_line"]) == (9, 10)
    assert result["text"] == "line 9\nline 10"


@pytest.mark.parametrize(
    ("first", "last"), [(0, 5), (-1, 5), (1, 0), (5, 4), (11, 12), (10**9, 10**9)]
)
def test_a_wrong_range_is_refused(forest: Forest, first: int, last: int) -> None:
    forest.put("code/a.py", TEN)
    assert (
        forest.code("repo_get_snippet", path="a.py", start_line=first, end_line=last)
        == "RANGE_INVALID"
    )


def test_start_after_end_is_refused_as_given_not_as_clamped(forest: Forest) -> None:
    forest.put("code/a.py", "one\n")
    error = forest.fails("repo_get_snippet", path="a.py", start_line=9, end_line=7)
    assert error["code"] == "RANGE_INVALID"
    assert error["details"] == {"start_line": 9, "end_line": 7}


def test_an_empty_file_has_no_lines_and_no_ranges(forest: Forest) -> None:
    forest.put("code/empty", "")
    result = forest.ok("repo_open_file", path="empty")["result"]
    assert (result["text"], result["total_lines"]) == ("", 0)
    assert forest.ok("repo_open_file", path="empty", lines=True)["result"]["lines"] == []
    assert (
        forest.code("repo_get_snippet", path="empty", start_line=1, end_line=1) == "RANGE_INVALID"
    )
    assert forest.code("repo_open_file", path="empty", char_start=1) == "RANGE_INVALID"


def test_lines_are_numbered_and_have_no_line_ends(forest: Forest) -> None:
    forest.put("code/a.txt", "one\r\n\ntwo\rstill two\nthree\r")
    result = forest.ok("repo_open_file", path="a.txt", lines=True)["result"]
    assert "text" not in result
    assert result["lines"] == [
        {"line": 1, "text": "one"},
        {"line": 2, "text": ""},
        {"line": 3, "text": "two\rstill two"},
        {"line": 4, "text": "three\r"},
    ]
    assert result["total_lines"] == 4


def test_only_line_feeds_end_lines(forest: Forest) -> None:
    text = "a\x0bb\x0cc\x1cd\x85e\u2028f\u2029g\rh\n"
    forest.put("code/a.txt", text)
    result = forest.ok("repo_open_file", path="a.txt")["result"]
    assert (result["text"], result["total_lines"]) == (text, 1)


@pytest.mark.parametrize(
    ("content", "text", "encoding"),
    [
        (b"\xef\xbb\xbfhello\n", "hello\n", None),
        ("hällo\n🙂\n".encode("utf-16"), "hällo\n🙂\n", "utf-16-le"),
        (b"\xfe\xff" + "x\ny\n".encode("utf-16-be"), "x\ny\n", "utf-16-be"),
        (b"\xff\xfe" + "x\ny\n".encode("utf-16-le") + b"z", "x\ny\n\ufffd", "utf-16-le"),
        ("Die Größe der Häuser überrascht.\n".encode("cp1252"), None, "cp1252"),
        ("Это текст в старой кодировке.\n".encode("cp1251") * 4, None, "cp1251"),
        ("日本語の文章です。読みやすい。\n".encode("shift_jis") * 4, None, "cp932"),
        (("日本語の文章です。" * 30).encode("shift_jis"), None, "cp932"),
        (
            "日本語の文章です。".encode("shift_jis") * 3 + b"\x93",
            "日本語の文章です。" * 3 + "\ufffd",
            "cp932",
        ),
        ("naïve café — ".encode() * 20 + b"\xff\n", "naïve café — " * 20 + "\ufffd\n", None),
    ],
)
def test_every_encoding_is_read_and_named(
    forest: Forest, content: bytes, text: str | None, encoding: str | None
) -> None:
    forest.put("docs/a.txt", content)
    result = forest.ok("repo_open_file", path="a.txt")["result"]
    named = result.get("encoding")
    assert named == encoding
    assert result["text"] == (content.decode(named or "utf-8") if text is None else text)
    assert result["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_large_file_of_characters_of_two_bytes_is_detected(forest: Forest) -> None:
    text = "x" + "日本語の文章です。読みやすい。" * 150_000
    forest.put("docs/a.txt", text.encode("shift_jis"))
    result = forest.ok("repo_open_file", path="a.txt", max_tokens=500)["result"]
    assert result["encoding"] == "cp932"
    assert text.startswith(result["text"])


def test_char_start_counts_from_the_first_line_asked_for(forest: Forest) -> None:
    forest.put("docs/a.txt", "éé\nabc🙂def\nlast\n")
    opened = forest.ok("repo_open_file", path="a.txt", char_start=7)["result"]
    assert (opened["text"], opened["start_line"], opened["end_line"]) == ("def\nlast\n", 2, 3)
    asked = {"path": "a.txt", "start_line": 2, "end_line": 2}
    part = forest.ok("repo_get_snippet", **asked, char_start=4)["result"]
    assert (part["text"], part["start_line"], part["end_line"]) == ("def\n", 2, 2)
    assert forest.code("repo_get_snippet", **asked, char_start=8) == "RANGE_INVALID"
    assert forest.code("repo_get_snippet", **asked, char_start=-1) == "RANGE_INVALID"
    assert forest.code("repo_open_file", path="a.txt", char_start=16) == "RANGE_INVALID"


def test_pieces_end_at_lines_and_go_on_with_the_next(forest: Forest) -> None:
    forest.put("code/a.py", "".join(f"value_{n} = {n}\n" for n in range(400)))
    asked = {"path": "a.py", "start_line": 11, "end_line": 390, "max_tokens": 300}
    pages = forest.pages("repo_get_snippet", **asked)
    assert len(pages) > 5
    for before, after in pairwise(pages):
        assert before["result"]["text"].endswith("\n")
        assert before["result"]["end_line"] + 1 == after["result"]["start_line"]
    assert "char_start" not in pages[0]["meta"]["next"]["arguments"]
    joined = "".join(page["result"]["text"] for page in pages)
    assert joined == "".join(f"value_{n} = {n}\n" for n in range(10, 390))


def test_pieces_of_text_that_costs_little_end_at_lines_too(forest: Forest) -> None:
    forest.put("docs/a.txt", (" " * 700 + "x\n") * 300)
    pages = forest.pages("repo_open_file", path="a.txt", max_tokens=500)
    assert len(pages) > 2
    assert all(page["result"]["text"].endswith("x\n") for page in pages)


def test_after_a_long_line_the_next_is_read_from_its_start(forest: Forest) -> None:
    long = "word and " * 1_500
    text = f"{long}\n" + "short\n" * 400 + f"{long}\nlast\n"
    forest.put("docs/a.txt", text)
    asked = {"path": "a.txt", "start_line": 1, "end_line": 403, "max_tokens": 700}
    pages = forest.pages("repo_get_snippet", **asked)
    assert "".join(page["result"]["text"] for page in pages) == text


def test_a_line_over_the_budget_is_cut_at_a_character(forest: Forest) -> None:
    text = "first\n" + "häuser🙂 " * 3_000 + "\nlast\n"
    forest.put("docs/a.txt", text)
    for tool, asked in (
        ("repo_open_file", {}),
        ("repo_get_snippet", {"start_line": 2, "end_line": 2}),
    ):
        pages = forest.pages(tool, path="a.txt", max_tokens=1_000, **asked)
        joined = "".join(page["result"]["text"] for page in pages)
        assert joined == (text if tool == "repo_open_file" else text.split("\n")[1] + "\n")
        numbered = forest.pages(tool, path="a.txt", max_tokens=1_000, lines=True, **asked)
        rows = [row for page in numbered for row in page["result"]["lines"]]
        assert "".join(row["text"] for row in rows if row["line"] == 2) == text.split("\n")[1]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [5, 6, 7, 8])
def test_lines_of_a_long_path_go_on_as_its_text_does(forest: Forest, size: int, end: str) -> None:
    path, line = "é日本語" * size + "/a.txt", "häuser🙂 " * 10
    forest.put(f"docs/{path}", f"{line}{end}" * 5)
    asked = {"path": path, "start_line": 2, "end_line": 4, "max_tokens": 200}
    plain = forest.pages("repo_get_snippet", **asked)
    numbered = forest.pages("repo_get_snippet", **asked, lines=True)
    rows = [row for page in numbered for row in page["result"]["lines"]]
    for number in (2, 3, 4):
        assert "".join(row["text"] for row in rows if row["line"] == number) == line
    assert len(numbered) <= 3 * len(plain)


@pytest.mark.parametrize("size", range(20))
def test_a_cut_before_the_line_feed_leaves_no_carriage_return(forest: Forest, size: int) -> None:
    for text in (" " * 1_590 + "x" * size, "龘" * 20 + "é" * size):
        forest.put("docs/a.txt", f"{text}\r\n" * 9)
        pages = forest.pages("repo_open_file", path="a.txt", max_tokens=200, lines=True)
        rows = [row for page in pages for row in page["result"]["lines"]]
        assert not any("\r" in row["text"] for row in rows)


def test_seed_names_answer_lines(forest: Forest) -> None:
    forest.put("code/a.py", TEN)
    assert forest.ok("open_file", path="a.py")["result"]["lines"][0] == {
        "line": 1,
        "text": "line 1",
    }
    snippet = forest.ok("get_snippet", path="a.py", start_line=2, end_line=2)
    assert snippet["result"]["lines"] == [{"line": 2, "text": "line 2"}]
    page = forest.ok("open_file", path="a.py", max_tokens=200)
    if page["meta"]["truncated"]:
        assert page["meta"]["next"]["tool"] == "open_file"
