"""A line is the same text wherever it is shown, whatever its file is written in and is damaged."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rolltop.documents.extractors.document_reader import read_document
from rolltop.toolsets.retrieval import line_index
from rolltop.toolsets.retrieval.index import file_text
from tests.campaign import examples
from tests.toolsets.retrieval.forest import Forest, make_forest

if TYPE_CHECKING:
    from collections.abc import Iterable

SENTENCES = {
    "ja": ["これは日本語の文章です。", "文字コードを検出できるか試します。", "ソース能表", "新"],
    "zh": ["这是一个用于测试编码检测的中文文档。", "它包含一些句子。", "新联通", "中"],
    "tw": ["這是一個用於測試編碼檢測的中文文件。", "它包含一些句子。", "功許蓋"],
    "ko": ["이것은 인코딩 감지를 시험하기 위한 한국어 문서입니다.", "가나다"],
    "ru": ["Это обычный русский текст для проверки.", "Он нужен.", "я"],  # Russian
    "de": ["Die Größe der Straße beträgt über zehn Meter.", "schön", "é"],
}
ENCODINGS = [
    *(("ja", "shift_jis"), ("ja", "euc_jp"), ("zh", "gb18030"), ("tw", "big5"), ("ko", "euc_kr")),
    *(("ru", "cp1251"), ("ru", "koi8-r"), ("de", "cp1252"), ("ja", "utf-8"), ("de", "utf-8")),
    *(("ko", "utf-8-sig"), ("ja", "utf-16"), ("de", "utf-16")),
]
OF_SEVERAL_BYTES = [pair for pair in ENCODINGS if pair[0] in SENTENCES and pair[0] not in "deru"][
    :5
]


def shown(forest: Forest, queries: Iterable[str]) -> dict[str, dict[int, str]]:
    """Return lines of `docs/a.txt` by who shows them: those that searches find, some others."""
    data = (forest.top / "docs/a.txt").read_bytes()
    root = forest.desk.roots.named[0]
    (entry,) = forest.desk.roots.walk(root)
    ranked = file_text.read_text(forest.desk.roots, root, entry)[1]
    found: dict[str, dict[int, str]] = {
        "reader": dict(enumerate(read_document(data, Path("a.txt")).text.split("\n"), 1)),
        "ranked": dict(enumerate(ranked.split("\n")[:-1], 1)),
        "repo_open_file": rows(forest.ok("repo_open_file", path="a.txt", lines=True)),
    }
    hits = found["repo_search"] = dict[int, str]()
    for query in queries:
        for hit in forest.ok("repo_search", query=query, context=1)["result"]:
            around = [*hit.get("before", []), *hit.get("after", [])]
            lines = [(hit["line"], hit["preview"]), *((one["line"], one["text"]) for one in around)]
            hits |= {number: line for number, line in lines if "…" not in line}
    snippets = found["repo_get_snippet"] = dict[int, str]()
    for number in hits:
        asked = {"path": "a.txt", "start_line": number, "end_line": number, "lines": True}
        snippets |= rows(forest.ok("repo_get_snippet", **asked))
    return found


def rows(answer: dict[str, Any]) -> dict[int, str]:
    """Return the numbered lines of a read, but the last of one that was cut."""
    lines = answer["result"]["lines"]
    return {
        row["line"]: row["text"] for row in lines[: -1 if answer["meta"]["truncated"] else None]
    }


def agree(found: dict[str, dict[int, str]]) -> None:
    """Compare all with what the reader makes of the whole."""
    expected = found["reader"]
    for who, lines in found.items():
        for number, line in lines.items():
            # The CR of a CRLF is shown by some; of two of them one is text to all.
            assert line in {expected[number], expected[number].removesuffix("\r")}, (who, number)


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A text in one of the encodings, with bytes that were changed, lost or put in."""
    language, encoding = draw(st.sampled_from(ENCODINGS))
    word = st.sampled_from([*SENTENCES[language], "plain", "needle", "a", " ", "<br>"])
    line = st.lists(word, max_size=12).map("".join)
    ends = draw(st.sampled_from(["\n", "\r\n"]))
    lines = draw(st.lists(line, min_size=1, max_size=12)) * draw(st.sampled_from([1, 1, 4]))
    data = bytearray((ends.join(lines) + draw(st.sampled_from(["", ends]))).encode(encoding))
    first = 3 if encoding in {"utf-8-sig", "utf-16"} else 0
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(min(first, len(data)), len(data)))
        gone = draw(st.integers(0, 2))
        put = draw(
            st.lists(st.sampled_from([0x30, 0x41, 0x5C, 0x80, 0x8F, 0xE3, 0xFF]), max_size=2)
        )
        data[at : at + gone] = bytes(put)
    return bytes(data)


@settings(max_examples=examples(20), deadline=None)
@given(data=damaged(), block=st.integers(4, 60))
@example(data="\ufeff\r\r\n\r\n".encode("utf-16-le"), block=4)
@example(data=b"plain " + b"\xa4\x8f0\xb3" + 9 * "これは日本語です".encode("euc_jp"), block=4)
def test_all_that_show_a_line_show_the_same(data: bytes, block: int) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.object(line_index, "MIN_BLOCK", block),
        patch.object(file_text, "MAX_BYTES", 100),
        patch.object(file_text, "BEGINNING", 50 + block),
    ):
        forest = make_forest(Path(os.path.realpath(folder)), "docs")
        forest.put("docs/a.txt", data)
        agree(shown(forest, ["needle", "a", "plain"]))


@pytest.mark.parametrize(
    ("language", "encoding", "damage"),
    [*((*pair, b"\xff") for pair in OF_SEVERAL_BYTES), ("ja", "euc_jp", b"")],
)
def test_a_damaged_byte_of_a_large_file_spoils_no_other_line(
    forest: Forest, language: str, encoding: str, damage: bytes
) -> None:
    lines = [f"{n} {line} needle{n}." for n in range(1_000) for line in SENTENCES[language]]
    data = bytearray("\n".join([*lines, ""]).encode(encoding))
    at = data.index(b" needle", 60_000) - 3
    data[at : at + 1] = damage
    spoilt = data.count(b"\n", 0, at) + 1
    forest.put("docs/a.txt", bytes(data))
    found = shown(forest, [f"needle{n}." for n in (0, 990)])
    agree(found)
    assert len(found["repo_search"]) >= 2 * len(SENTENCES[language])
    for number, line in found["reader"].items():
        assert number == spoilt or line in lines[number - 1 : number] or number > len(lines)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("size", [100, 200_000])
def test_a_torn_character_of_utf8_spoils_no_other_line(
    forest: Forest, mark: bytes, size: int
) -> None:
    text = "plain\n" * (size // 6) + "needle größer\nneedle 日本語 ends here\n" * 5
    torn = b"needle gr\xc3r needle\n"
    forest.put("docs/a.txt", mark + torn + text.encode())
    found = shown(forest, ["needle"])
    agree(found)
    assert found["repo_search"][1] == "needle gr\ufffdr needle"
    assert found["repo_search"][max(found["repo_search"])] == "needle 日本語 ends here"


def test_a_match_inside_a_character_tears_no_character(forest: Forest) -> None:
    line = "ソース表能ソース needle ソース"  # the second byte of these is a letter of ASCII, or `\`
    forest.put("docs/a.txt", f"{line}\n{line * 60}\n".encode("shift_jis") * 3)
    for query in ("[", "\\", "\\ "):
        hits = forest.ok("repo_search", query=query)["result"]
        assert len(hits) in {0, 6}
        for hit in hits:
            assert hit["preview"].strip("…") in line * 60


def test_a_line_that_would_be_utf8_too_is_in_the_encoding_of_its_file(forest: Forest) -> None:
    text = "这是一个用于测试编码检测的中文文档。\n" * 20 + "needle = 目\n"
    assert "目".encode("gb18030").decode()  # it is
    forest.put("docs/a.txt", text.encode("gb18030"))
    (hit,) = forest.ok("repo_search", query="needle")["result"]
    assert hit["preview"] == "needle = 目"


def test_the_beginning_of_a_very_large_file_is_ranked_as_it_is_read(forest: Forest) -> None:
    line = "中文文档 needle 它包含一些句子。" * 20 + "\n"
    data = bytearray((line * 15_000).encode("gb18030"))
    data[500_000] = 0xFF
    forest.put("docs/a.txt", bytes(data))
    (hit,) = forest.ok("repo_search", query="needle", limit=1)["result"]
    assert hit["preview"][:-1] == line[:399]
    root = forest.desk.roots.named[0]
    (entry,) = forest.desk.roots.walk(root)
    lines = file_text.read_text(forest.desk.roots, root, entry)[1].split("\n")
    assert lines[-1] == ""
    for number in (1, 2, 1_000, len(lines) - 1):
        read = forest.ok("repo_get_snippet", path="a.txt", start_line=number, end_line=number)
        assert read["result"]["text"] == f"{lines[number - 1]}\n" == line
