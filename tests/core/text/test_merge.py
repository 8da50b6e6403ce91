"""Three-way merges: both sides' changes, or none of them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.text.diff import diff_lines
from rolltop.core.text.merge import merge_sets, merge_texts
from tests.campaign import examples
from tests.growth import Sample, check_growth

if TYPE_CHECKING:
    from collections.abc import Sequence

LINES = st.lists(st.sampled_from("abc"), max_size=8)
TEXTS = LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))
OPEN_TEXTS = LINES.map("\n".join)


def edited(lines: Sequence[str], places: set[int], name: str) -> str:
    """Return the lines with some of them replaced."""
    return "".join(f"{name} {n}\n" if n in places else line for n, line in enumerate(lines))


@settings(max_examples=examples(100))
@given(st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd")))
def test_hunks_turn_one_text_into_the_other(before: list[str], after: list[str]) -> None:
    made: list[str] = []
    at = 0
    for hunk in diff_lines(before, after):
        made += [*before[at : hunk.start], *after[hunk.new_start : hunk.new_end]]
        at = hunk.end
    assert made + before[at:] == after
    assert all(first.end < second.start for first, second in pairwise(diff_lines(before, after)))


@settings(max_examples=examples(200))
@given(st.one_of(TEXTS, OPEN_TEXTS), st.one_of(TEXTS, OPEN_TEXTS), st.one_of(TEXTS, OPEN_TEXTS))
def test_it_does_not_matter_which_side_is_which(base: str, ours: str, theirs: str) -> None:
    assert merge_texts(base, ours, theirs) == merge_texts(base, theirs, ours)
    assert merge_texts(base, ours, base) == ours
    assert merge_texts(base, base, theirs) == theirs
    assert merge_texts(base, ours, ours) == ours


@settings(max_examples=examples(100))
@given(st.integers(1, 12), st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)))
def test_changes_of_other_lines_are_both_in_the_merge(
    count: int, ours: set[int], theirs: set[int]
) -> None:
    base = [f"line {n}\n" for n in range(count)]
    ours, theirs = ({n for n in side if n < count} for side in (ours, theirs))
    merged = merge_texts("".join(base), edited(base, ours, "ours"), edited(base, theirs, "theirs"))
    if ours & theirs:
        assert merged is None
    else:
        both = edited(edited(base, ours, "ours").splitlines(keepends=True), theirs, "theirs")
        assert merged == both


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a\nb\n", "a\nX\n", "a\nY\n", None),
        ("a\nb\n", "a\nb\nX\n", "a\nb\nY\n", None),
        ("a\nb\n", "a\nb\nX\n", "Y\na\nb\n", "Y\na\nb\nX\n"),
        ("a\nb\n", "a\n", "a\nX\n", None),
        ("a\nb\nc\n", "b\nc\n", "a\nb\nC\n", "b\nC\n"),
        ("a\r\nb\r\n", "A\r\nb\r\n", "a\r\nB\r\n", "A\r\nB\r\n"),
        ("a\nb\n", "a\nx", "a\nb\nc\n", None),
    ],
)
def test_what_clashes_is_left_to_the_caller(
    base: str, ours: str, theirs: str, merged: str | None
) -> None:
    assert merge_texts(base, ours, theirs) == merged


def test_tags_are_merged_as_sets() -> None:
    assert merge_sets(["a", "b", "c"], ["c", "a", "x"], ["b", "c", "y"]) == ["c", "x", "y"]


def test_many_tags_are_merged_in_time_by_their_number() -> None:
    def merge(text: str) -> None:
        names = [f"{number}" for number in range(len(text))]
        merge_sets(names[:10], names, [f"{name}x" for name in names])

    check_growth(merge, Sample(("a",)))


def test_stretches_that_resemble_each_other_are_compared_in_bounded_time() -> None:
    def compare(text: str) -> None:
        before, after = list[str](), list[str]()
        for number in range(0, len(text), 900):
            before += [f"{number}", *("a", "b") * 450]
            after += [f"{number}", *("a", "c") * 450]
        assert diff_lines(before, after)

    check_growth(compare, Sample(("a",)))


def test_lines_that_occur_once_ever_further_in_overflow_nothing() -> None:
    before, after = list[str](), list[str]()
    for number in range(2_500):
        before += ["x", f"line {number + 1}", f"line {number}"]
        after += ["y", f"line {number + 1}", f"line {number}"]
    assert diff_lines(before, after)[0] == (0, 1, 0, 1)


def test_long_texts_are_compared_by_the_lines_that_occur_once() -> None:
    base = [f"{n % 7}" for n in range(3000)]
    other = [f"{n % 5}" for n in range(3000)]
    mark = ["only here"]
    found = diff_lines([*base, *mark, *base], [*other, *mark, *other])
    assert [(hunk.start, hunk.end) for hunk in found][-1][0] > len(base)
    assert all(not hunk.start <= len(base) < hunk.end for hunk in found)
