"""HTTP requests with limits on their time, retries, waits and the size of their answers."""

from __future__ import annotations

import asyncio
import functools
import json
import random
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rolltop.core.json_scanner import JsonScanner
from rolltop.core.lazy_imports import lazy
from rolltop.toolsets.notes.clients import backend
from rolltop.toolsets.notes.clients.backend import BackendError, BodyTooLong

if TYPE_CHECKING:
    import ssl

    import httpx2
else:
    httpx2 = lazy("httpx2")

T = TypeVar("T")

INITIAL_BACKOFF_SECONDS: Final = 0.5
MAX_INLINE_BYTES: Final = 1 << 16
"""Of a body that is parsed on the event loop; also what is read of a larger one at a time."""
_UNPACKED_STEP: Final = 1 << 20
# Of the time for a request: what may go by until it is connected, and what one gets that follows
# on one without an answer, to ask what became of that: both end within the limit of a tool's call.
# So does what is written again thereupon: only an answer to that shows that writes are answered.
_CONNECT_DIVISOR: Final = 2
_LOOKUP_DIVISOR: Final = 3
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = range(500, 600)
_CONTENT_ENCODING: Final = "gzip"
_GZIP: Final = 16 + zlib.MAX_WBITS
_DEFAULT_HEADERS: Final = {"User-Agent": "rolltop", "Accept-Encoding": _CONTENT_ENCODING}


@dataclass(frozen=True)
class RequestLimits:
    """Seconds for one request, its retries, seconds for all waits together, bytes of an answer."""

    timeout: float = 30.0
    retries: int = 3
    max_wait: float = 30.0
    max_body_bytes: int = 64 << 20


@dataclass(frozen=True)
class HttpResponse:
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:  # noqa: ANN401  # any JSON value
        """Parse the body, with NaN, infinity and lone surrogates. Raises BackendError."""
        try:
            if len(self.body) <= MAX_INLINE_BYTES:
                return json.loads(self.body)
            scanner = JsonScanner()
            for start in range(0, len(self.body), MAX_INLINE_BYTES):
                scanner.feed(self.body[start : start + MAX_INLINE_BYTES])
            return scanner.parse(lenient=True)
        except (json.JSONDecodeError, UnicodeDecodeError):
            raise backend.unexpected_response() from None
        except (ValueError, RecursionError):  # JSON, with more than is read: values, depth, digits
            raise backend.body_too_long() from None

    async def read(self, parse: Callable[[HttpResponse], T]) -> T:
        """Parse the response, a large one on a thread."""
        if len(self.body) <= MAX_INLINE_BYTES:
            return parse(self)
        return await asyncio.to_thread(parse, self)


class _BoundedBody:
    """A body as it comes in, unpacked no further than it may be long.

    httpx2 unpacks each chunk whole, and one of 64 KiB may hold gigabytes.
    """

    def __init__(self, encoding: str, max_bytes: int, *, answers_write: bool) -> None:
        packed = encoding.strip().lower()
        if packed not in {"", "identity", _CONTENT_ENCODING}:
            raise backend.unexpected_response(may_have_arrived=answers_write)
        self.data: Final = bytearray()
        self._max_bytes: Final = max_bytes
        self._answers_write: Final = answers_write
        self._decoder: Final = zlib.decompressobj(_GZIP) if packed == _CONTENT_ENCODING else None

    def unpack(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what a chunk holds, so much at a time that the event loop can bear. As `add`."""
        if self._decoder is None:
            yield chunk
            return
        while chunk and not self._decoder.eof:
            try:
                part = self._decoder.decompress(chunk, _UNPACKED_STEP)
            except zlib.error:
                raise backend.unexpected_response(may_have_arrived=self._answers_write) from None
            chunk = self._decoder.unconsumed_tail
            yield part

    def add(self, chunk: bytes) -> None:
        """Take a part of the body. Raises BackendError."""
        self.data.extend(chunk)
        if len(self.data) > self._max_bytes:
            raise backend.body_too_long(may_have_arrived=self._answers_write)


class HttpClient:
    """Sends requests to one backend. Redirects are not followed, nothing sent is logged."""

    def __init__(
        self,
        limits: RequestLimits,
        *,
        transport: httpx2.AsyncBaseTransport | None = None,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Open nothing yet; `transport` replaces the network."""
        self._limits: Final = limits
        self._pause: Final = pause
        self._transport: Final = transport
        self._client: httpx2.AsyncClient | None = None
        self._waited = 0.0
        self._timeout = limits.timeout

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
    ) -> HttpResponse:
        """Send a request, again if that is safe and may help.

        Too many requests and errors of the server are retried: a write carries the id of its
        change, so the backend recognizes it. A write (`writes`) that was sent and got no answer is
        never repeated here. Raises BackendError.
        """
        request = {"headers": {**_DEFAULT_HEADERS, **headers}, "json": body}
        for attempt in range(self._limits.retries + 1):
            is_last = attempt == self._limits.retries
            try:
                response = await self._send_once(method, url, request, writes=writes)
            except BackendError as failure:
                if is_last or not _may_retry(failure) or not await self._back_off(attempt, None):
                    raise
                continue
            if response.status != _TOO_MANY_REQUESTS and response.status not in _SERVER_ERRORS:
                return response
            retry_after = _retry_after(response)
            if is_last or not await self._back_off(attempt, retry_after):
                raise backend.status_error(response.status, retry_after)
        raise backend.connection_failure(may_have_arrived=False)

    async def _send_once(
        self, method: str, url: str, request: dict[str, Any], *, writes: bool
    ) -> HttpResponse:
        allowed = self._timeout
        try:
            async with asyncio.timeout(allowed):
                response = await self._read_response(method, url, request, writes=writes)
        except httpx2.ConnectTimeout:
            seconds = allowed / _CONNECT_DIVISOR
            raise backend.request_timeout(seconds, may_have_arrived=False) from None
        except (TimeoutError, httpx2.ReadTimeout, httpx2.WriteTimeout):
            self._timeout = self._limits.timeout / _LOOKUP_DIVISOR
            raise backend.request_timeout(allowed, may_have_arrived=writes) from None
        except (httpx2.ConnectError, httpx2.PoolTimeout):
            raise backend.connection_failure(may_have_arrived=False) from None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise backend.connection_failure(may_have_arrived=writes) from None
        if writes:
            self._timeout = self._limits.timeout
        return response

    async def _read_response(
        self, method: str, url: str, request: dict[str, Any], *, writes: bool
    ) -> HttpResponse:
        if self._client is None:
            self._client = httpx2.AsyncClient(
                transport=self._transport,
                verify=_ssl_context(),
                follow_redirects=False,
            )
        timeout = httpx2.Timeout(self._timeout, connect=self._timeout / _CONNECT_DIVISOR)
        async with self._client.stream(method, url, **request, timeout=timeout) as response:
            encoding = response.headers.get("Content-Encoding", "")
            most = self._limits.max_body_bytes
            body = _BoundedBody(encoding, most, answers_write=writes)
            async for chunk in response.aiter_raw():
                for part in body.unpack(chunk):
                    body.add(part)
                    await asyncio.sleep(0)
            return HttpResponse(response.status_code, response.headers, bytes(body.data))

    async def _back_off(self, attempt: int, retry_after: float | None) -> bool:
        """Wait before the next attempt; False if that would exceed the limit of all waits."""
        jitter = 0.5 + random.random()  # noqa: S311  # keeps clients apart, hides nothing
        backoff = INITIAL_BACKOFF_SECONDS * 2**attempt * jitter
        seconds = backoff if retry_after is None else retry_after
        if self._waited + seconds > self._limits.max_wait:
            return False
        self._waited += seconds
        await self._pause(seconds)
        return True


@functools.cache
def _ssl_context() -> ssl.SSLContext:
    """Read the system's certificates, which takes longer than a request."""
    return httpx2.create_ssl_context()


def _may_retry(failure: BackendError) -> bool:
    """Whether a request without an answer did nothing, and a retry may soon get one."""
    is_final = isinstance(failure, BodyTooLong) or failure.code == "BACKEND_TIMEOUT"
    return not (failure.may_have_arrived or is_final)


def _retry_after(response: HttpResponse) -> float | None:
    """Parse the seconds the backend asks for, written as a number or as a date."""
    text = response.headers.get("Retry-After", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
