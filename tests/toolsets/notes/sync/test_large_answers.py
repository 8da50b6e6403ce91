"""Large answers of Simplenote are read as small ones are; what is too large is told apart."""

from __future__ import annotations

import pytest

from rolltop.toolsets.notes.clients.backend import BodyTooLong
from rolltop.toolsets.notes.clients.http_client import MAX_INLINE_BYTES, HttpResponse


@pytest.mark.parametrize(
    "odd",
    [b"1e999", b"-1e999", b"Infinity", b"NaN", b'"\xed\xa0\x80"', rb'"\ud800"', b"-0.0"],
)
def test_a_large_body_is_read_as_a_small_one_is(odd: bytes) -> None:
    small = b'{"odd": %b, "text": ""}' % odd
    large = b'{"odd": %b, "text": "%b"}' % (odd, b"x" * MAX_INLINE_BYTES)
    read = [HttpResponse(200, {}, body).json()["odd"] for body in (small, large)]
    assert repr(read[0]) == repr(read[1])


def test_a_small_body_that_is_nested_too_deeply_is_too_large() -> None:
    body = b"[" * 30_000 + b"]" * 30_000
    assert len(body) < MAX_INLINE_BYTES
    with pytest.raises(BodyTooLong):
        HttpResponse(200, {}, body).json()
