"""Previews: what a unit is and what matched in it, in a few lines of at most 400 characters."""

from __future__ import annotations

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
