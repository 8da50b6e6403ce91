"""The scanner of JSON from strangers: reads what `json` reads, in any chunks, within limits."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.json_scanner import STRING_SLICE, JsonScanner, LimitExceeded
from tests.campaign import examples

TEXTS = st.text() | st.text(alphabet='a"\\\n{}[],:0😀\ud83d\ude00')
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS.filter(lambda value: value not in {float("inf"), float("-inf")}),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def scanned(data: bytes, size: int = 1 << 16) -> Any:
    scanner = JsonScanner()
    for start in range(0, len(data), size):
        scanner.feed(data[start : start + size])
    return scanner.parse()


@settings(max_examples=examples(200))
@given(value=VALUES, size=st.integers(1, 40), indent=st.none() | st.just(1))
def test_any_json_is_read_whatever_the_chunks(value: Any, size: int, indent: int | None) -> None:
    text = json.dumps(value, indent=indent)
    assert scanned(text.encode(), size) == json.loads(text)


@settings(max_examples=examples(100))
@given(data=st.text(alphabet='ab"\\u0:,[]{}1.e \n').map(str.encode), size=st.integers(1, 9))
def test_what_is_no_json_is_refused_as_json_refuses_it(data: bytes, size: int) -> None:
    try:
        expected = json.loads(data)
    except ValueError:
        with pytest.raises(ValueError):  # noqa: PT011  # whichever it is
            scanned(data, size)
    else:
        assert scanned(data, size) == expected


@pytest.mark.parametrize("unit", ["\\n", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\\ud83d", "é", "😀"])
@pytest.mark.parametrize("shift", range(13))
def test_long_strings_are_read_in_whole_characters(unit: str, shift: int) -> None:
    text = f'"{"x" * shift}{unit * (2 * STRING_SLICE // len(unit))}"'
    assert scanned(text.encode()) == json.loads(text)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[" + b"0," * 49_999 + b"0]", "more than 50000 values"),
        (b"[" + b"[]," * 49_999 + b"[]]", "more than 50000 values"),
        (b"{" + b'"k":0,' * 49_999 + b'"k":0}', "more than 50000 values"),
        (b'""' * 200_000, "more than 50000 values"),
        (b"[" * 101, "nested more than 100 deep"),
        (b'{"a":' * 101, "nested more than 100 deep"),
        (b"1" * 4301, "a number of more than 4300 digits"),
        (b"0." + b"1" * 10_000, "a number of more than 4300 digits"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_over_a_limit_is_refused_before_it_is_parsed(data: bytes, reason: str) -> None:
    scanner = JsonScanner()
    with pytest.raises(LimitExceeded, match=reason):
        scanner.feed(data)


@pytest.mark.parametrize(
    "data",
    [
        b"[" + b"0," * 49_998 + b"0]",
        b"[" + b"[ ]," * 49_998 + b"[]]",
        b"{" + b'"k":0,' * 49_998 + b'"k":0}',
        b"[" * 100 + b"]" * 100,
        b'"' + b"[,{" * 100_000 + b'"',
        b'"' + b'\\"[' * 100_000 + b'"',
        b"9" * 4300,
    ],
    ids=lambda data: str(cast("bytes", data)[:12]),
)
def test_what_is_within_the_limits_is_read(data: bytes) -> None:
    assert scanned(data) == json.loads(data)


@pytest.mark.parametrize(
    "data", [b"1e999", b"[-1e999]", b"NaN", b"-Infinity", b'"\xff"', b'"a', b""]
)
def test_numbers_out_of_range_and_broken_text_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # whichever it is
        scanned(data)
