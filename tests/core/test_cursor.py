"""Cursors come back as they were made and everything else is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolltop.core import cursor
from rolltop.core.errors import InvalidArgument

numbers = st.integers(-(1 << 62), 1 << 62)
scalars = st.none() | numbers | st.text(st.characters(exclude_categories=["Cs"]), max_size=50)


@given(st.lists(scalars, max_size=4))
def test_a_cursor_round_trips_and_is_url_safe(values: list[object]) -> None:
    text = cursor.encode("tasks", values)
    assert cursor.decode("tasks", text) == values
    assert text.isascii()
    assert not set(text) & set("+/=& ?")


@given(st.text(max_size=60))
def test_any_other_text_is_refused_with_the_code(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        cursor.decode("tasks", text, code="INVALID_CURSOR")
    assert caught.value.code == "INVALID_CURSOR"


def test_a_cursor_of_another_list_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        cursor.decode("tasks", cursor.encode("files", [1]))


def test_a_cursor_of_a_list_narrowed_otherwise_is_refused() -> None:
    kinds = [cursor.filtered_kind("tasks", *values) for values in ((), ("a",), ("", "a"), (["a"],))]
    assert kinds[0] == cursor.filtered_kind("tasks", None, "", [], 0) == "tasks"
    assert len(set(kinds)) == len(kinds)
    for kind in kinds:
        text = cursor.encode(kind, [1])
        assert not set(text) & set("+/=& ?")
        for other in kinds:
            if other == kind:
                assert cursor.decode(other, text) == [1]
                continue
            with pytest.raises(InvalidArgument):
                cursor.decode(other, text)


@given(
    st.lists(st.text(max_size=5), unique=True, max_size=9), st.integers(0, 9), st.integers(0, 9**9)
)
def test_a_ranked_list_goes_on_at_what_came_next(keys: list[str], place: int, order: int) -> None:
    named = cursor.decode_place("tasks", cursor.encode_place("tasks", keys, place, order))
    assert (named[0], named[-1]) == (place, order)
    assert cursor.find_place(keys, named) == min(place, len(keys))
    if place < len(keys):
        assert cursor.find_place(["another", *keys], named) == place + 1
        with pytest.raises(InvalidArgument):
            cursor.find_place(keys[:place], named)


@pytest.mark.parametrize(
    "values", [[], [-1], ["1"], [1, 2], [1, "a", "b"], [1, "a", 2, 3], [None], [[1]]]
)
def test_other_values_are_no_place(values: list[object]) -> None:
    with pytest.raises(InvalidArgument):
        cursor.decode_place("tasks", cursor.encode("tasks", values))


def test_hostile_cursors_are_refused() -> None:
    nested = cursor.encode("tasks", [1])
    for hostile in (nested * 2000, "[" * 100_000, "é", nested + "\n", ""):
        with pytest.raises(InvalidArgument):
            cursor.decode("tasks", hostile)
