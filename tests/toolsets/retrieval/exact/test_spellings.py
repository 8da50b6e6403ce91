from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.exact.spellings import likenesses
from tests.campaign import examples

if TYPE_CHECKING:
    from collections.abc import Callable

_NAMES = st.text("abcdexyz_AB0129", min_size=4, max_size=60)
_LETTERS = st.sampled_from("abqz_Z7")


def found(text: str, line: str) -> str | None:
    """Return what is named of a line, as a search over files would find it."""
    for likeness in likenesses(text):
        lines = re.compile(likeness.asked, re.IGNORECASE)
        narrowing = re.compile(likeness.narrowing, re.IGNORECASE)
        if lines.search(line):
            assert narrowing.search(line), "an index would not have proposed the file"
            name = likeness.named(line)
            if name is not None:
                return name
    return None


def missing(text: str, at: int, letter: str) -> str:
    """Return the text as it was before a letter was left out."""
    return text[:at] + letter + text[at:]


def too_many(text: str, at: int, letter: str) -> str:  # noqa: ARG001
    return text[:at] + text[at + 1 :]


def wrong(text: str, at: int, letter: str) -> str:
    return text[:at] + letter + text[at + 1 :]


def swapped(text: str, at: int, letter: str) -> str:  # noqa: ARG001
    at = min(at, len(text) - 2)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


@settings(max_examples=examples(300), deadline=None)
@given(_NAMES, st.integers(0, 59), _LETTERS, st.sampled_from([missing, too_many, wrong, swapped]))
@example("mutex_lok", 8, "c", missing)
@example("struct_mutxe", 10, "", swapped)
@example("netdev_alolc_skb", 3, "_", wrong)
def test_one_letter_off_is_found(
    text: str, at: int, letter: str, edit: Callable[[str, int, str], str]
) -> None:
    occurring = edit(text, at % len(text), letter)
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
