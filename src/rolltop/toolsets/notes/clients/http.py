"""Requests with bounds: on their time, their repeats, their waits and the size of their answers."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.lazy import lazy
from rolltop.toolsets.notes.clients import failures

if TYPE_CHECKING:
    import ssl
    from collections.abc import Awaitable, Callable, Mapping

    import httpx2

    from rolltop.toolsets.notes.clients.failures import BackendFailed
else:
    httpx2 = lazy("httpx2")

_FIRST_WAIT: Final = 0.5
_TOO_MANY: Final = 429
_SERVER_FAULTS: Final = range(500, 600)
_PACKED: Final = "gzip"
_GZIP: Final = 16 + zlib.MAX_WBITS
_ALWAYS: Final = {"User-Agent": "rolltop", "Accept-Encoding": _PACKED}


@dataclass(frozen=True)
class Bounds:
    """How long (seconds), how often and how much; `patience` is for all waits together."""

    timeout: float = 30.0
    repeats: int = 3
    patience: float = 30.0
    largest_body: int = 64 << 20


@dataclass(frozen=True)
class Answer:
    """What came back, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # any JSON value
        """Return the body's value. Raises BackendFailed for what is no JSON."""
        try:
            return json.loads(self.body, parse_constant=lambda _name: None)
        except (ValueError, RecursionError):
            raise failures.not_understood() from None


@dataclass(frozen=True)
class _Request:
    method: str
    url: str
    headers: Mapping[str, str]
    body: object


class _Body:
    """An answer's body as it comes in, unpacked no further than it may be long.

    httpx2 unpacks each chunk whole, and one of 64 KiB may hold gigabytes.
    """

    def __init__(self, encoding: str, largest: int) -> None:
        packed = encoding.strip().lower()
        if packed not in {"", "identity", _PACKED}:
            raise failures.not_understood()
        self.read: Final = bytearray()
        self._largest: Final = largest
        self._unpacked: Final = zlib.decompressobj(_GZIP) if packed == _PACKED else None

    def add(self, chunk: bytes) -> None:
        """Take what came. Raises BackendFailed."""
        if self._unpacked is not None:
            try:
                chunk = self._unpacked.decompress(chunk, self._largest + 1)
            except zlib.error:
                raise failures.not_understood() from None
        self.read.extend(chunk)
        if len(self.read) > self._largest:
            raise failures.too_long()


class Exchange:
    """Sends requests to one backend. Redirects are not followed, nothing sent is logged."""

    def __init__(
        self,
        bounds: Bounds,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Open nothing yet; `transport` takes the place of the network."""
        self._bounds: Final = bounds
        self._pause: Final = pause
        self._transport: Final = transport
        self._client: httpx2.AsyncClient | None = None
        self._waited = 0.0

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def send(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: object = None,
        writes: bool = False,
    ) -> Answer:
        """Return the answer, asking again where that is safe and may help.

        Too many requests and faults of the server are repeated as they are: a write carries the
        id of its change, so the backend knows it again. A write (`writes`) that was sent and got
        no answer is never repeated here. Raises BackendFailed.
        """
        request = _Request(method, url, {**_ALWAYS, **headers}, body)
        for repeat in range(self._bounds.repeats + 1):
            last = repeat == self._bounds.repeats
            try:
                answer = await self._once(request, writes=writes)
            except failures.BackendFailed as failure:
                if last or not _may_repeat(failure) or not await self._wait(repeat, None):
                    raise
                continue
            if answer.status != _TOO_MANY and answer.status not in _SERVER_FAULTS:
                return answer
            asked = _retry_after(answer)
            if last or not await self._wait(repeat, asked):
                raise _refusal(answer.status, asked)
        raise failures.unreachable(may_have_arrived=False)

    async def _once(self, request: _Request, *, writes: bool) -> Answer:
        """Return one answer within the time for one request."""
        try:
            async with asyncio.timeout(self._bounds.timeout):
                return await self._exchange(request)
        except (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout):
            raise failures.timed_out(self._bounds.timeout, may_have_arrived=writes) from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout):
            raise failures.unreachable(may_have_arrived=False) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise failures.unreachable(may_have_arrived=writes) from None
        except failures.BodyTooLong:
            raise failures.too_long(may_have_arrived=writes) from None

    async def _exchange(self, request: _Request) -> Answer:
        async with self._opened().stream(
            request.method,
            request.url,
            headers=request.headers,
            json=request.body,
            follow_redirects=False,
        ) as response:
            body = _Body(response.headers.get("Content-Encoding", ""), self._bounds.largest_body)
            async for chunk in response.aiter_raw():
                body.add(chunk)
            return Answer(response.status_code, response.headers, bytes(body.read))

    def _opened(self) -> httpx2.AsyncClient:
        if self._client is None:
            timeout = httpx2.Timeout(self._bounds.timeout)
            self._client = httpx2.AsyncClient(
                timeout=timeout, transport=self._transport, verify=_certificates()
            )
        return self._client

    async def _wait(self, repeat: int, asked: float | None) -> bool:
        """Wait before the next attempt; False where there is no patience left for it."""
        spread = 0.5 + random.random()  # noqa: S311  # keeps clients apart, hides nothing
        seconds = _FIRST_WAIT * 2**repeat * spread if asked is None else asked
        if self._waited + seconds > self._bounds.patience:
            return False
        self._waited += seconds
        await self._pause(seconds)
        return True


@functools.cache
def _certificates() -> ssl.SSLContext:
    """Return the system's certificates, which take longer to read than a request to make."""
    return httpx2.create_ssl_context()


def _may_repeat(failure: BackendFailed) -> bool:
    """Whether a request that got no answer did nothing, and a repeat may soon get one."""
    too_long = isinstance(failure, failures.BodyTooLong)
    return not (failure.may_have_arrived or too_long or failure.code == "BACKEND_TIMEOUT")


def _refusal(status: int, retry_after: float | None) -> BackendFailed:
    if status == _TOO_MANY:
        return failures.rate_limited(retry_after)
    return failures.broken(status)


def _retry_after(answer: Answer) -> float | None:
    """Return the seconds the backend asks for, written as a number or as a date."""
    text = answer.headers.get("Retry-After", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
