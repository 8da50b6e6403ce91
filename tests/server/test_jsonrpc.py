"""Envelopes: whatever comes, there is a message or there are refusals that can be sent."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.server import jsonrpc
from tests.campaign import examples

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"])
ENVELOPES = st.dictionaries(NAMES, VALUES | st.just("2.0"), max_size=6)


def check(data: bytes, sent: Any) -> None:
    """Check what a line is read as against what is known of it."""
    read = jsonrpc.parse_message(data)
    if not isinstance(read, list):
        assert isinstance(sent, dict)
        assert sent["jsonrpc"] == "2.0"
        return
    assert read
    for refusal in read:
        body = json.loads(refusal.body())
        assert body["error"]["code"] in {-32700, -32600}
        assert b"\n" not in refusal.body()
        assert body["id"] is None or isinstance(body["id"], int | str)
    members = cast("dict[str, Any]", sent) if isinstance(sent, dict) else {}
    if not {"result", "error"} & set(members):
        given_id = members.get("id")
        if isinstance(given_id, int | str) and not isinstance(given_id, bool):
            assert read[0].id == given_id


@settings(max_examples=examples(200))
@given(sent=ENVELOPES | VALUES | st.lists(ENVELOPES, max_size=3))
def test_any_json_is_a_message_or_refused_with_its_id(sent: Any) -> None:
    check(json.dumps(sent).encode(), sent)


@settings(max_examples=examples(200))
@given(data=st.binary(max_size=60))
def test_any_bytes_are_answered(data: bytes) -> None:
    check(data, None)


@settings(max_examples=examples(100))
@given(identifier=st.integers() | st.text(), junk=st.binary(min_size=1, max_size=8))
def test_the_id_is_found_in_a_line_that_is_not_utf_8(identifier: int | str, junk: bytes) -> None:
    head = json.dumps({"jsonrpc": "2.0", "id": identifier, "method": "x"}).encode()
    line = head[:-1] + b',"params":{"x":"\xff' + junk.hex().encode() + b'"}}'
    read = jsonrpc.parse_message(line)
    assert isinstance(read, list)
    [refusal] = read
    assert (refusal.id, refusal.code) == (identifier, -32700)


UNREADABLE = {
    "nested too deeply": b"[" * 100_000 + b"]" * 100_000,
    "a number too long": b"1" * 5000,
    "a number JSON lacks": b"NaN",
    "bytes that are no UTF-8": b'"\xff"',
    "a string that is not closed": b'"x',
    "nothing": b"",
}


@pytest.mark.parametrize("value", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("identifier", [7, -7, "seven", 'a "quoted" \\ one', "\ud800"])
@pytest.mark.parametrize("first", [True, False])
def test_the_id_is_found_in_a_request_that_cannot_be_read(
    value: bytes, identifier: int | str, *, first: bool
) -> None:
    given_id = b'"id" : %b' % json.dumps(identifier).encode()
    params = b'"params": {"id": 1, "x": ["id", %b]}' % value
    inside = [given_id, b'"method": "id"', params]
    if not first:
        inside = [b'"method": "id"', b'"other": "\\"id\\": 2"', b'"nan": NaN', given_id, params]
    (refusal,) = cast(
        "list[jsonrpc.JsonRpcRefusal]", jsonrpc.parse_message(b"{" + b", ".join(inside) + b"}")
    )
    assert (refusal.id, refusal.code) == (identifier, -32700)


@pytest.mark.parametrize(
    "line", [b'{"id": 1, "result": NaN}', b'{"id": 1.5, "x": NaN}', b'["id"', b'{"id"']
)
def test_what_is_no_request_has_no_id_to_be_answered_by(line: bytes) -> None:
    (refusal,) = cast("list[jsonrpc.JsonRpcRefusal]", jsonrpc.parse_message(line))
    assert refusal.id is None


def test_a_byte_order_mark_is_no_part_of_a_message() -> None:
    line = b'\xef\xbb\xbf{"jsonrpc":"2.0","id":7,"method":"ping"}'
    assert jsonrpc.parse_message(line) == jsonrpc.parse_message(line[3:])
    refused = jsonrpc.parse_message(line[:-1] + b',"params":{"x":"\xff"}}')
    assert isinstance(refused, list)
    assert refused[0].id == 7
