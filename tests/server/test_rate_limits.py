"""Limits on callers over HTTP: each token has its own, and others feel nothing of who is over."""

from __future__ import annotations

import http.client
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolltop.server.rate_limits import RateLimit, network
from tests.limits import LONG
from tests.server.processes import LEGACY, MODERN, PATIENCE, HttpServer, rpc_request
from tests.server.test_auth import Accounts, status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Clock:
    """Time that passes when it is told to, in seconds."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Accounts]:
    """The accounts in the store below the test's folder."""
    made = Accounts(tmp_path)
    yield made
    made.database.close()


@patch("rolltop.server.rate_limits._MINUTE", 60.0)  # as it is: the clock is the test's own
@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 30)), max_size=120),
)
def test_no_key_has_more_than_its_limit_and_what_a_minute_adds(
    limit: int, events: list[tuple[str, float]]
) -> None:
    clock = Clock()
    rate = RateLimit(limit, clock)
    passed: dict[str, list[float]] = {"a": [], "b": []}
    for key, pause in events:
        clock.now += pause
        wait = rate.take(key)
        if not wait:
            passed[key].append(clock.now)
            continue
        # Nobody is let in earlier than told, nor turned away later.
        then = Clock()
        then.now = clock.now
        clock.now = then.now + wait + 1e-6
        assert not rate.wait(key)
        clock.now = then.now + wait * 0.999 - 1e-6
        assert rate.wait(key)
        clock.now = then.now
    for times in passed.values():
        for i, start in enumerate(times):
            within = [t for t in times[i:] if t - start < 60]
            assert len(within) <= 2 * limit


def test_no_limit_lets_all_pass() -> None:
    rate = RateLimit(0, Clock())
    assert not any(rate.take("a") for _ in range(1000))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
        ("", "192.0.2.1", False),
    ],
)
def test_addresses_of_one_holder_are_counted_together(
    one: str, other: str, *, is_same: bool
) -> None:
    assert (network(one) == network(other)) is is_same


def test_many_keys_are_forgotten_before_the_busy_one() -> None:
    clock = Clock()
    rate = RateLimit(2, clock)
    for number in range(30_000):
        rate.take(f"other {number}")
        if number % 5000 == 0:
            rate.take("busy")
    assert rate.wait("busy")
    assert not rate.wait("other 1")


def test_a_token_over_its_rate_is_told_when_to_come_back_and_others_pass(
    tmp_path: Path, store: Accounts
) -> None:
    ada = store.user("ada@example.org")
    hers, token_id = store.token(ada)
    his, _ = store.token(store.user("bob@example.org"))
    with HttpServer(tmp_path, http__rate_limit=3) as server:
        for _ in range(3):
            assert status(server, authorization=f"Bearer {hers}") == 200
        body, headers = rpc_request("tools/list", era=MODERN)
        headers["authorization"] = f"Bearer {hers}"
        code, told, said = server.ask("POST", "/mcp", body, headers)
        assert (code, b"http.rate_limit" in said) == (429, True)
        assert 0 < int(told["retry-after"]) <= LONG / 3
        assert status(server, authorization=f"Bearer {his}") == 200
        whose = f"user_id={ada} token_id={token_id}"
        server.stderr.until(rf"request refused.* status=429 .*address=127.* path=/mcp {whose}")


def test_without_tokens_nobody_is_counted(tmp_path: Path) -> None:
    with HttpServer(tmp_path, http__rate_limit=1, http__max_concurrent_calls=1) as server:
        for _ in range(3):
            assert status(server, authorization=None) == 200


def test_a_token_has_so_many_calls_at_once(tmp_path: Path, store: Accounts) -> None:
    hers, _ = store.token(store.user("ada@example.org"))
    his, _ = store.token(store.user("bob@example.org"))
    with HttpServer(tmp_path, http__max_concurrent_calls=2) as server, ExitStack() as opened:
        waiting: list[http.client.HTTPConnection] = []
        for _ in range(2):
            call = {"name": "wait_for_cancel", "_meta": {"progressToken": "x"}}
            body, headers = rpc_request("tools/call", call, era=MODERN)
            connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
            opened.callback(connection.close)
            connection.request("POST", "/mcp", body, headers | {"authorization": f"Bearer {hers}"})
            answer = connection.getresponse()
            assert b"waiting" in answer.readline() + answer.readline()
            waiting.append(connection)
        assert status(server, authorization=f"Bearer {hers}") == 429
        assert status(server, authorization=f"Bearer {his}") == 200
        stream = rpc_request("subscriptions/listen", {"notifications": {}}, era=MODERN)
        listening = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        opened.callback(listening.close)
        listening.request(
            "POST", "/mcp", stream[0], stream[1] | {"authorization": f"Bearer {hers}"}
        )
        assert listening.getresponse().status == 200
        waiting[0].close()
        while (code := status(server, authorization=f"Bearer {hers}")) == 429:
            pass
        assert code == 200


def test_wrong_tokens_are_limited_by_address_and_whoever_has_a_right_one_stays_in(
    tmp_path: Path, store: Accounts
) -> None:
    known, _ = store.token(store.user("ada@example.org"))
    new, _ = store.token(store.user("bob@example.org"))
    with HttpServer(tmp_path, http__wrong_token_limit=3) as server:
        assert status(server, authorization=f"Bearer {known}") == 200
        for number in range(3):
            assert status(server, authorization=f"Bearer rt_{number}") == 401
        body, headers = rpc_request("tools/list", era=LEGACY)
        headers["authorization"] = "Bearer rt_4"
        code, told, _ = server.ask("POST", "/mcp", body, headers)
        assert (code, 0 < int(told["retry-after"]) <= LONG / 3) == (429, True)
        for token in (known, new):  # behind a proxy they come from the same address
            assert status(server, authorization=f"Bearer {token}") == 200


def test_right_tokens_that_come_at_once_with_wrong_ones_are_let_in(
    tmp_path: Path, store: Accounts
) -> None:
    tokens = [store.token(store.user(f"{name}@example.org"))[0] for name in ("ada", "bob", "eve")]
    with HttpServer(tmp_path, http__wrong_token_limit=1) as server, ThreadPoolExecutor() as pool:
        assert status(server, authorization="Bearer rt_0") == 401
        given = [*tokens, "rt_1"] * 4
        asked = [pool.submit(status, server, authorization=f"Bearer {one}") for one in given]
        assert [one.result() for one in asked] == [200, 200, 200, 429] * 4


def test_a_user_has_so_many_streams(tmp_path: Path, store: Accounts) -> None:
    hers, _ = store.token(store.user("ada@example.org"))
    his, _ = store.token(store.user("bob@example.org"))
    params = {"notifications": {"resourceSubscriptions": ["rolltop://thing/one"]}}

    def listen(token: str) -> bytes:
        body, headers = rpc_request("subscriptions/listen", params, era=MODERN)
        connection = http.client.HTTPConnection(server.host, timeout=PATIENCE)
        opened.callback(connection.close)
        connection.request("POST", "/mcp", body, headers | {"authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.readline() + answer.readline()

    with HttpServer(tmp_path) as server, ExitStack() as opened:
        for _ in range(20):
            assert b"acknowledged" in listen(hers)
        assert b"open subscriptions" in listen(hers)
        assert b"acknowledged" in listen(his)
