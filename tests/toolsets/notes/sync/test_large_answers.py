"""Large answers of Simplenote are read as small ones are; what is too large is told apart."""

from __future__ import annotations

import asyncio
import gzip

import httpx2
import pytest

from rolltop.toolsets.notes.clients.backend import BackendError, BodyTooLong
from rolltop.toolsets.notes.clients.http_client import (
    MAX_INLINE_BYTES,
    HttpClient,
    HttpResponse,
    RequestLimits,
)
from tests.simperium.transport import Whole


@pytest.mark.parametrize(
    "odd",
    [b"1e999", b"-1e999", b"Infinity", b"NaN", b'"\xed\xa0\x80"', rb'"\ud800"', b"-0.0"],
)
def test_a_large_body_is_read_as_a_small_one_is(odd: bytes) -> None:
    small = b'{"odd": %b, "text": ""}' % odd
    large = b'{"odd": %b, "text": "%b"}' % (odd, b"x" * MAX_INLINE_BYTES)
    read = [HttpResponse(200, {}, body).json()["odd"] for body in (small, large)]
    assert repr(read[0]) == repr(read[1])


@pytest.mark.parametrize("body", [b"[" * 30_000 + b"]" * 30_000, b"1" * 5_000], ids=len)
def test_a_small_body_with_what_python_does_not_read_is_too_large(body: bytes) -> None:
    assert len(body) < MAX_INLINE_BYTES
    with pytest.raises(BodyTooLong):
        HttpResponse(200, {}, body).json()


def test_what_follows_a_packed_body_is_left_out() -> None:
    text = bytes(3 << 20)

    def answer(request: httpx2.Request) -> httpx2.Response:
        body = Whole(gzip.compress(text) + b"more")
        headers = {"Content-Encoding": "gzip"}
        return httpx2.Response(200, headers=headers, stream=body, request=request)

    async def read() -> bytes:
        client = HttpClient(RequestLimits(timeout=5), transport=httpx2.MockTransport(answer))
        return (await client.send("GET", "http://127.0.0.1:9/", headers={})).body

    assert asyncio.run(read()) == text


def test_after_an_answered_write_a_request_has_its_whole_time_again() -> None:
    allowed: list[float] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        allowed.append(request.extensions["timeout"]["read"])
        if len(allowed) == 1:
            raise httpx2.ReadTimeout("no answer", request=request)
        return httpx2.Response(200, stream=Whole(b"{}"), request=request)

    async def ask() -> None:
        client = HttpClient(RequestLimits(timeout=30), transport=httpx2.MockTransport(answer))
        with pytest.raises(BackendError):
            await client.send("POST", "http://127.0.0.1:9/", headers={}, writes=True)
        for writes in (False, True, True):
            await client.send("POST", "http://127.0.0.1:9/", headers={}, writes=writes)

    asyncio.run(ask())
    assert allowed == [30, 10, 10, 30]
