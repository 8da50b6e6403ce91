"""Previews: what a unit is and what matched in it, in a few lines of at most 400 characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.rank.previews import PREVIEW, preview
from tests.campaign import examples


@given(
    before=st.integers(0, 3_000),
    after=st.integers(0, 3_000),
    wanted=st.text("xyz", min_size=1, max_size=60),
    lines=st.lists(st.text("ab ", max_size=90), max_size=3),
)
@settings(max_examples=examples(150))
def test_a_long_line_shows_what_matched(
    before: int, after: int, wanted: str, lines: list[str]
) -> None:
    line = "a" * before + wanted + "b" * after
    for own in ("\n".join([line, *lines]), "\n".join(["head", line, *lines])):
        shown = preview(own, {wanted})
        assert len(shown) <= PREVIEW
        assert wanted in shown
        assert all(part in own for line in shown.split("\n") for part in line.split("…"))


def test_no_mark_stands_before_the_beginning_of_a_line() -> None:
    assert preview("w" * 500, {"w" * 450}).startswith("w")


@given(
    lines=st.lists(st.builds("a b".__mul__, st.integers(0, 60)), min_size=1, max_size=20),
    wanted=st.text("xyz", min_size=1, max_size=60),
    at=st.integers(0, 20),
)
@settings(max_examples=examples(150))
def test_what_is_cut_ends_in_a_mark(lines: list[str], wanted: str, at: int) -> None:
    lines.insert(at, wanted)
    shown = preview("\n".join(lines), {wanted})
    assert len(shown) <= PREVIEW
    assert wanted in shown
    told = [line.strip() for line in lines if line.strip()]
    seen = [line.strip() for line in shown.split("\n")]
    if "…" not in shown:
        assert seen == told
    assert seen[-1].endswith("…") or told[-1].endswith(seen[-1].lstrip("…"))


@pytest.mark.parametrize("count", [399, 400, 5_000])
def test_what_matched_far_down_a_long_text_is_shown(count: int) -> None:
    lines = [f"    hippo_{n} = {n}" for n in range(count)]
    text = "\n".join(["def enormous():", *lines, "    return needle", "    # the end"])
    shown = preview(text, {"needle"})
    assert shown == "def enormous():\n…\n    return needle\n    # the end"
    text = "\n".join(["def enormous():", "    return needle", *lines])
    assert preview(text, {"needle"}).startswith(
        "def enormous():\n    return needle\n    hippo_0 = 0"
    )
    assert preview(text, {"needle"}).endswith("\n…")


def test_what_matched_far_along_a_long_line_is_shown() -> None:
    for own in ("a" * 9_000 + "needle" + "b" * 9_000, "head\n" + "a " * 9_000 + "needle\ntail"):
        assert "needle" in preview(own, {"needle"})
