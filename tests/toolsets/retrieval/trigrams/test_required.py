"""Whatever ripgrep finds in a file, the index proposes the file."""

from __future__ import annotations

import re
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core.roots.opening import UTF16_MARKS
from rolltop.toolsets.retrieval.exact.expression import expression
from rolltop.toolsets.retrieval.exact.ripgrep import program
from rolltop.toolsets.retrieval.models import Query
from rolltop.toolsets.retrieval.trigrams.postings import TEXT, Noted, Postings
from rolltop.toolsets.retrieval.trigrams.required import NOTHING, required
from rolltop.toolsets.retrieval.trigrams.runs import kept
from tests.campaign import examples
from tests.toolsets.retrieval.exact.drawn import patterns, texts_of_stretches

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rolltop.toolsets.retrieval.models import Case


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    pattern=patterns().filter(str.strip),
    texts=st.lists(texts_of_stretches(), min_size=6, max_size=12),
    case=st.sampled_from(("sensitive", "ignore", "smart")),
    encoding=st.sampled_from(("utf-8", "latin-1", "utf-16")),
)
def test_the_index_proposes_every_file_that_matches(
    tmp_path: Path, pattern: str, texts: list[str], case: Case, encoding: str
) -> None:
    """Whatever classes, repetitions and groups say, none that ripgrep finds is left out."""
    query = Query(pattern, regex=True, case=case)
    datas = [text.encode(encoding, "replace") for text in texts]
    found = _matching(tmp_path, query, datas)
    assert found <= _proposed(tmp_path, query, datas), (pattern, required(query))


def _matching(folder: Path, query: Query, datas: Sequence[bytes]) -> set[int]:
    """Return which of the files ripgrep finds; none where it cannot read the expression."""
    for number, data in enumerate(datas):
        (folder / f"{number}.txt").write_bytes(data)
    asked = expression(query)
    names = [f"{number}.txt" for number in range(len(datas))]
    flags = ["--no-config", "--text", "--crlf", "--files-with-matches", *asked.flags]
    done = subprocess.run(
        [program(), *flags, "-e", asked.pattern.decode(), *names],
        cwd=folder, capture_output=True, check=False,
    )  # fmt: skip
    return {int(number) for number in re.findall(rb"(\d+)\.txt", done.stdout)}


def _in_utf8(data: bytes) -> bytes:
    return data.decode("utf-16").encode() if data.startswith(UTF16_MARKS) else data


def _proposed(folder: Path, query: Query, datas: Sequence[bytes]) -> set[int]:
    index = folder / "index"
    for old in index.glob("*"):
        old.unlink()
    with closing(Postings(index)) as postings:
        stamps = [
            Noted(f"{n}", (n, 1, 1, 1), TEXT, kept(_in_utf8(data))) for n, data in enumerate(datas)
        ]
        postings.put("/code", stamps)
        _, numbers = postings.proposed(required(query))
        paths: dict[int, int] = {}
        postings.each_row("/code", 0, lambda path, row, _: paths.update({row.number: int(path)}))
    if numbers is None:
        return set(range(len(datas)))
    return {paths[number] for number in numbers}


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        (r"\b[0-9a-f]{40}\b", "3f786850e387550fdab836ed7e6dc881de23001b", "3f786850e387550f"),
        (r"(?:[0-9A-F]{2}){16}", "D41D8CD98F00B204E9800998ECF8427E", "D41D8CD9 8F00B204 E9800998"),
        (r"[^\x00-\x7F]", "naïve", "naive"),
        (r"^.{120,}$", "two words " * 12, "two words " * 9),
        (r"\S{60,}?", "https://example.org/" + "a/" * 30, "https://example.org/ " * 9),
        (r"[[:upper:]_]{24}", "A_NAME_THAT_IS_VERY_LONG_", "A_NAME-THAT_IS-VERY_LONG"),
        (r"\d{4}-\d{2}-\d{2}", "2026-11-23", "26-11-23"),
        (r"(?i)[a-z]{28}|\d{12}", "ABCDEFGHIJKLMNOPQRSTUVWXYZAB", "ABCDEFGHIJKLM 12345678901"),
    ],
)  # fmt: skip
def test_a_long_stretch_is_asked_for_where_there_is_no_text(
    tmp_path: Path, pattern: str, inside: str, outside: str
) -> None:
    query = Query(pattern, regex=True)
    assert _proposed(tmp_path, query, [inside.encode(), outside.encode()]) == {0}


@pytest.mark.parametrize("pattern", [r"\w*", "(?:[a-z]{40})?", r"[a-z]{40}|\d", ".", r"(\d{9})*x"])
def test_what_may_be_missing_asks_for_nothing(pattern: str) -> None:
    assert required(Query(pattern, regex=True)) == NOTHING


def test_an_expression_too_deep_to_ask_for_takes_the_index_from_nobody(tmp_path: Path) -> None:
    deep = Query("(" * 48 + "abc|xyz" + ")def|xyw" * 48, regex=True)
    assert _proposed(tmp_path, deep, [b"abcdef", b"none"]) >= {0}
    assert _proposed(tmp_path, Query("needle"), [b"a needle", b"none"]) == {0}


@pytest.mark.parametrize(
    "atom", ["a", r"\w", "(?i)", "(?:a)", "[a-z]", "(", "a|", "{9}", "[", r"\b"]
)
def test_a_long_expression_is_read_or_left_alone(atom: str) -> None:
    assert required(Query(atom * (1 << 19), regex=True)) == NOTHING


def test_many_texts_are_asked_for_whatever_stretches_stand_beside_them(tmp_path: Path) -> None:
    names = [f"key{number:02}_" for number in range(100)]
    query = Query("|".join(f"{name}[0-9a-f]{{32}}" for name in names), regex=True)
    datas = [f"key17_{'0a' * 16}".encode(), b"key17_", b"0a" * 16]
    assert _proposed(tmp_path, query, datas) == {0, 1}


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("[]-9]", "-"),
        (r"[]-\x01]{20}", "-" * 20),
        (r"[^]-a\x00-\x5c\x62-\x7f]", "_"),
        ("[+-[b]|a]needle_needle", "b"),
        (r"[\--[b]|a]needle_needle", "b"),
    ],
)
def test_brackets_inside_brackets_are_read_as_ripgrep_does(
    tmp_path: Path, pattern: str, text: str
) -> None:
    query = Query(pattern, regex=True)
    assert _matching(tmp_path, query, [text.encode()]) <= _proposed(
        tmp_path, query, [text.encode()]
    )
