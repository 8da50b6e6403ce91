from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.grep.suggestion import find_suggestion
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import FileStat, SkippedEntries
from tests.campaign import examples
from tests.toolsets.retrieval.grep.witness import trees_of

_NAMES = st.text("abcdexyz_AB0129", min_size=4, max_size=60)
_EDITS = ("missing", "too many", "wrong", "swapped")
_LETTERS = st.sampled_from("abqz_Z7")


def found(text: str, line: str) -> str | None:
    """Return what is named of a line, with an index that proposes its file if it would."""
    with TemporaryDirectory() as folder:
        Path(folder, "a").write_text(line)
        (tree,) = trees_of(Path(folder))
        index = Proposing(list(tree.files(SkippedEntries())), line)
        named = find_suggestion([tree], Query(text), 100, math.inf)
        indexed = replace(tree, index=index)
        assert find_suggestion([indexed], Query(text), 1 << 30, math.inf) == named
    return named


@dataclass(frozen=True)
class Proposing:
    """An index of one file with one line."""

    files: list[FileStat]
    line: str

    def candidates(self, query: Query) -> list[FileStat]:
        return self.files if re.search(query.text, self.line, re.IGNORECASE) else []

    def is_text(self, _entry: FileStat) -> bool:
        return True


def edited(text: str, at: int, letter: str, how: str) -> str:
    """Return what occurs where a text has one letter missing, too many, wrong or swapped."""
    pair = min(at, len(text) - 2)
    return {
        "missing": text[:at] + letter + text[at:],
        "too many": text[:at] + text[at + 1 :],
        "wrong": text[:at] + letter + text[at + 1 :],
        "swapped": text[:pair] + text[pair + 1] + text[pair] + text[pair + 2 :],
    }[how]


@settings(max_examples=examples(50), deadline=None)
@given(
    _NAMES,
    st.integers(0, 59),
    _LETTERS,
    st.sampled_from(["missing", "too many", "wrong", "swapped"]),
)
@example("mutex_lok", 8, "c", "missing")
@example("struct_mutxe", 10, "", "swapped")
@example("netdev_alolc_skb", 3, "_", "wrong")
def test_one_letter_off_is_found(text: str, at: int, letter: str, how: str) -> None:
    occurring = edited(text, at % len(text), letter, how)
    if text.lower() not in occurring.lower():
        name = found(text, f"static int ({occurring});")
        assert name is not None
        assert name in occurring


@pytest.mark.parametrize("text", ["mutex_lock_nested", "mutexes", "größenwahn_der_zwerge"])
def test_two_letters_off_are_not(text: str) -> None:
    assert found(text, f"{text[0]}qq{text[3:]}") is None
    assert found(text, f"q{text[1:-1]}q") is None
    assert found(text, "mutex unlock") is None


def test_what_is_named_is_the_whole_of_it() -> None:
    assert found("mutex_lok", "x = mutex_lock(y)") == "mutex_lock"
    assert found("netdev_alolc_skb", "my_netdev_alloc_skb_ip(x)") == "netdev_alloc_skb"
    assert found("MUTEX_lokc_nested", "(mutex_lock_nested)") == "mutex_lock_nested"
    assert found("größenwanh-der", "der Größenwahn-der") == "Größenwahn-der"


@pytest.mark.parametrize(
    ("text", "held", "name"),
    [
        ("QAction", "reactions, Action", "Action"), ("TALL", "tallest tall", "tall"),
        ("selff", "self_test or self", "self"),
        ("mutexLock", "mutex_locked mutex.lock", "mutex.lock"),
        ("QAtion", "annotation", "tation"), ("(foo", "a(Foo)", "(Foo"),
    ],
)  # fmt: skip
def test_whole_words_come_before_parts_of_words(text: str, held: str, name: str) -> None:
    assert found(text, held) == name


@pytest.mark.parametrize("text", ["fooBar", "foo bar", "foo_bar_baz"])
def test_what_is_named_stands_on_one_line(text: str) -> None:
    assert found(text, "foo\nbar\nbaz foo\r\nbar") is None


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("\u03bf\u03b4\u03bf\u03c3", "\u039f\u0394\u039f\u03a3"),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2"),
        ("STRING", "\u017ftring"), ("\u00b5meter", "\u03bcMETER"), ("\u212aelvin", "kelvin"),
    ],
)  # fmt: skip
def test_letters_of_two_small_forms_are_one(text: str, held: str) -> None:
    assert found(text, f"a {held} b") == held


def test_a_letter_whose_small_form_is_longer_moves_nothing() -> None:
    assert found("mutex_lokc", "\u0130\u0130 mutex_LOCK") == "mutex_LOCK"
    assert found("\u0130stanbul", "in ISTANBUL") == "ISTANBUL"
