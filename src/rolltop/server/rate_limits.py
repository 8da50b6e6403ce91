"""Limits on callers over HTTP: requests a minute, calls at once, wrong tokens."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final

from rolltop.core.errors import RateLimited

_MINUTE: Final = 60.0
_MAX_KEYS: Final = 10_000
_IPV6_NETWORK_BITS: Final = 64
"""Of an address: one customer has all the addresses of such a network."""


class RateLimit:
    """So many events a minute for each key, and as many at once after a rest.

    Each process counts for itself.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Let `per_minute` pass; 0 lets all pass. The clock's unit is seconds."""
        self._limit = per_minute
        self._clock = clock
        self._spent: dict[str, tuple[float, float]] = {}
        """By key, the least recently counted first: how many events count still, and since when."""

    def take(self, key: str) -> float:
        """Count an event; return 0, or the seconds until there is room for one more."""
        wait = self.wait(key)
        if self._limit and not wait:
            spent = self._now_spent(key)
            self._spent.pop(key, None)
            self._spent[key] = (spent + 1, self._clock())
            if len(self._spent) > _MAX_KEYS:
                del self._spent[next(iter(self._spent))]
        return wait

    def wait(self, key: str) -> float:
        """Return the seconds until there is room for an event, and count none."""
        over = self._now_spent(key) + 1 - self._limit
        return max(0.0, over * _MINUTE / self._limit) if self._limit else 0.0

    def _now_spent(self, key: str) -> float:
        spent, since = self._spent.get(key, (0.0, 0.0))
        return max(0.0, spent - (self._clock() - since) * self._limit / _MINUTE)


class CallLimits:
    """How often, and how often at once, each token may ask for something."""

    def __init__(self, *, per_minute: int, at_once: int) -> None:
        """Take the limits; 0 is none."""
        self._rate = RateLimit(per_minute)
        self._per_minute = per_minute
        self._at_once = at_once
        self._running: Counter[str] = Counter()

    def count(self, token: str) -> None:
        """Count a request; one without a token is not. Raises RateLimited."""
        wait = self._rate.take(token) if token else 0
        if wait:
            text = f"This token may send {self._per_minute} requests a minute (http.rate_limit)"
            raise RateLimited(text, retry_after=math.ceil(wait))

    @contextmanager
    def running(self, token: str) -> Generator[None]:
        """Hold one of a token's places for calls at once. Raises RateLimited."""
        if token and self._at_once and self._running[token] >= self._at_once:
            text = f"This token may have {self._at_once} calls at once (http.max_concurrent_calls)"
            raise RateLimited(text, retry_after=1)
        self._running[token] += 1
        try:
            yield
        finally:
            self._running[token] -= 1
            if not self._running[token]:
                del self._running[token]


class WrongTokens:
    """How many wrong tokens came from where; beyond the limit the store is asked about no more."""

    def __init__(self, per_minute: int) -> None:
        """Take the limit; 0 is none."""
        self._rate = RateLimit(per_minute)

    def check(self, address: str) -> None:
        """Make sure that a token from there may be looked up. Raises RateLimited."""
        wait = self._rate.wait(network(address))
        if wait:
            text = "Too many wrong tokens came from this address (http.wrong_token_limit)"
            raise RateLimited(text, retry_after=math.ceil(wait))

    def count(self, address: str) -> None:
        """Count a wrong one."""
        self._rate.take(network(address))


def network(address: str) -> str:
    """Return what addresses of one holder have in common."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address  # a Unix socket
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _IPV6_NETWORK_BITS), strict=False))
