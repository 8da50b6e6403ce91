"""Previews: what a unit is and what matched in it, in a few lines of at most 400 characters."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.ranked.snippets import PREVIEW, snippet
from tests.campaign import examples
from tests.growth import count_calls

if TYPE_CHECKING:
    from tests.toolsets.retrieval.forest import Forest

HUGE = {
    "brackets": "def f():\n" + "}\n" * 60_000 + "needle zebra\n",
    "nothing but one word": "def f():\n" + "    needle\n" * 60_000 + "zebra\n",
    "blank lines": "needle\n" + "\n" * 60_000 + "zebra",
    "signs": "#\r\n" * 60_000 + "needle",
    "other words": "def f():\n" + "    return self.value\n" * 60_000 + "    needle = self.value\n",
}


def plainly(own: str, wanted: set[str]) -> list[str]:
    """Return the lines from the one on that, with the two after, hold most of what is wanted."""
    lines = own.split("\n")
    found = [{text for text in wanted if text in line.lower()} for line in lines]
    counts = [
        len(set[str]().union(*found[at : at + 3])) if at and found[at] else 0
        for at, _ in enumerate(lines)
    ]
    return lines[counts.index(max(counts)) :] if any(counts) else []


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
        shown = snippet(own, {wanted})
        assert len(shown) <= PREVIEW
        assert wanted in shown
        assert all(part in own for line in shown.split("\n") for part in line.split("…"))


def test_no_mark_stands_before_the_beginning_of_a_line() -> None:
    assert snippet("w" * 500, {"w" * 450}).startswith("w")


@given(
    lines=st.lists(st.builds("a b".__mul__, st.integers(0, 60)), min_size=1, max_size=20),
    wanted=st.text("xyz", min_size=1, max_size=60),
    at=st.integers(0, 20),
)
@settings(max_examples=examples(150))
def test_what_is_cut_ends_in_a_mark(lines: list[str], wanted: str, at: int) -> None:
    lines.insert(at, wanted)
    shown = snippet("\n".join(lines), {wanted})
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
    shown = snippet(text, {"needle"})
    assert shown == "def enormous():\n…\n    return needle\n    # the end"
    text = "\n".join(["def enormous():", "    return needle", *lines])
    assert snippet(text, {"needle"}).startswith(
        "def enormous():\n    return needle\n    hippo_0 = 0"
    )
    assert snippet(text, {"needle"}).endswith("\n…")


def test_what_matched_far_along_a_long_line_is_shown() -> None:
    for own in ("a" * 9_000 + "needle" + "b" * 9_000, "head\n" + "a " * 9_000 + "needle\ntail"):
        assert "needle" in snippet(own, {"needle"})


@given(
    lines=st.lists(
        st.lists(st.sampled_from(["ab", "Cd", "xyz", "q" * 30, "é"]), max_size=4).map(" ".join),
        min_size=2,
        max_size=40,
    ),
    wanted=st.sets(st.sampled_from(["ab", "cd", "xyz", "y", "é"]), min_size=1),
)
@settings(max_examples=examples(300))
def test_the_lines_with_most_of_what_is_wanted_are_shown(
    lines: list[str], wanted: set[str]
) -> None:
    own = "\n".join(["head", *lines])
    best = "\n".join(filter(None, plainly(own, wanted)))[: PREVIEW // 2]
    assert best in snippet(own, wanted)


@pytest.mark.parametrize("own", HUGE.values(), ids=HUGE)
@pytest.mark.parametrize("wanted", [{"needle"}, {"needle", "zebra", "absent", "self", "value"}])
def test_a_huge_text_takes_no_step_for_each_of_its_lines(own: str, wanted: set[str]) -> None:
    assert "needle" in snippet(own, wanted)
    assert count_calls(lambda: snippet(own, wanted)) < 50_000


def test_what_is_rare_in_a_huge_text_is_shown_beside_what_is_everywhere() -> None:
    lines = ["    return self.value"] * 60_000
    lines[50_000] = "    needle = self.value"
    shown = snippet("\n".join(["def f():", *lines]), {"self", "value", "needle"})
    assert shown.split("\n")[:6] == ["def f():", "…", *lines[49_998:50_002]]


def test_previews_are_made_of_the_places_on_the_page(
    forest: Forest, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def counted(own: str, wanted: set[str]) -> str:
        made.append(own)
        return snippet(own, wanted)

    monkeypatch.setattr("rolltop.toolsets.retrieval.ranked.rerank.snippet", counted)
    for n in range(30):
        forest.put(f"code/m{n}.py", f"def zebra_{n}():\n    return 1\n")
    found = forest.ok("repo_smart_search", query="zebra", limit=3)["result"]
    assert [place["preview"] for place in found] == [own.strip() for own in made]
    assert len(made) == 3
