"""The client of Simplenote: every code, every bound, every answer that is none."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import threading
import tracemalloc
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import httpx2
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rolltop.core.errors import RolltopError
from rolltop.toolsets.notes.clients import note_object
from rolltop.toolsets.notes.clients import simperium as simperium_module
from rolltop.toolsets.notes.clients.backend import BackendError, BodyTooLong, CredentialsRejected
from rolltop.toolsets.notes.clients.http_client import HttpClient, RequestLimits
from rolltop.toolsets.notes.clients.simperium import (
    Credentials,
    SimplenoteBackend,
    SimplenoteEndpoints,
)
from tests.campaign import examples
from tests.simperium import API_KEY, APP_ID, Simperium
from tests.simperium.http import Served
from tests.simperium.transport import InProcess, Whole
from tests.toolsets.notes.sync.device import EMAIL, PASSWORD, PLACES

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from rolltop.toolsets.notes.clients.backend import RemoteNote, WriteResult

NOTE: Final[dict[str, Any]] = {"content": "one", "tags": [], "deleted": False}


@dataclass
class Caller:
    """Calls the server in this process and keeps how long it would have waited."""

    server: Simperium
    waits: list[float] = field(default_factory=list[float])
    token: str = ""
    password: str = PASSWORD

    async def pause(self, seconds: float) -> None:
        self.waits.append(seconds)

    def __call__(self, ask: Callable[[SimplenoteBackend], Awaitable[Any]]) -> Any:
        exchange = HttpClient(
            RequestLimits(max_body_bytes=1 << 20),
            transport=InProcess(self.server),
            pause=self.pause,
        )
        return self.through(exchange, ask)

    def through(
        self, exchange: HttpClient, ask: Callable[[SimplenoteBackend], Awaitable[Any]]
    ) -> Any:
        """Return what `ask` answers of a client that uses `exchange`."""

        async def run() -> Any:
            credentials = Credentials(EMAIL, self.token, self.password)
            try:
                return await ask(SimplenoteBackend(PLACES, credentials, exchange, "test"))
            finally:
                await exchange.close()

        return asyncio.run(run())

    def put(self, base: int | None = None, name: str = "n", **more: Any) -> WriteResult:
        """Write a note."""
        data = {**NOTE, **more}
        return self(lambda client: client.put(name, data, base, f"{name}-{base}-{data}"))

    def get(self, name: str = "n") -> RemoteNote | None:
        """Read a note."""
        return self(lambda client: client.get(name))

    def failure(self, ask: Callable[[], Any]) -> BackendError:
        """Return how a call fails."""
        with pytest.raises(BackendError) as raised:
            ask()
        return raised.value


@pytest.fixture
def call(simperium: Simperium) -> Caller:
    return Caller(simperium)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(404, "gone"), (405, "stale"), (409, "duplicate"), (412, "unchanged"), (440, "stale")],
)
def test_a_write_that_is_not_taken_says_what_to_do_next(
    call: Caller, status: int, outcome: str
) -> None:
    call.server.faults.add("status", "post", status=status)
    assert call.put().outcome == outcome
    assert call.put().outcome == "stored"


def test_the_server_s_own_codes_are_understood(call: Caller) -> None:
    first = call.put()
    assert first.note is not None
    assert (first.note.version, first.note.data) == (1, NOTE)
    assert call.put().outcome == "duplicate"
    assert call.put(1).outcome == "unchanged"
    assert call.put(7, content="two").outcome == "stale"
    assert call.put(3, "unknown").outcome == "gone"
    assert call(lambda client: client.delete("n", 5, "c1")).outcome == "stale"
    assert call(lambda client: client.delete("n", 1, "c2")).outcome == "stored"
    assert call(lambda client: client.delete("n", 1, "c3")).outcome == "gone"
    assert call.get() is None


@pytest.mark.parametrize(
    "said",
    [
        "soon",
        "-1",
        "Mon, 01 Jan 99999999999999999999 00:00:00 GMT",
        "Mon, 01 Jan 2020 00:00:00 +99999999999999999",
    ],
)
def test_a_wait_that_makes_no_sense_is_one_of_our_own(call: Caller, said: str) -> None:
    call.server.faults.add("status", "get", status=429, headers=(("Retry-After", said),))
    assert call.get() is None
    assert len(call.waits) == 1
    assert 0 < call.waits[0] < 1


def test_too_many_requests_wait_as_long_as_the_server_says(call: Caller) -> None:
    for wait in ("2", "7"):
        call.server.faults.add("status", "get", status=429, headers=(("Retry-After", wait),))
    assert call.get() is None
    assert call.waits == [2.0, 7.0]


@pytest.mark.parametrize(
    ("status", "code", "subcategory"),
    [(429, "BACKEND_RATE_LIMIT", "rate_limit"), (503, "BACKEND_UNAVAILABLE", "unavailable")],
)
def test_no_wait_is_longer_than_a_call_may_take(
    call: Caller, status: int, code: str, subcategory: str
) -> None:
    call.server.faults.add("status", "get", status=status, headers=(("Retry-After", "3600"),))
    failure = call.failure(call.get)
    assert (failure.code, failure.data["http_status"]) == (code, status)
    assert failure.data["details"] == {"retry_after": 3600.0}
    assert failure.data["subcategory"] == subcategory
    assert call.waits == []


def test_a_server_out_of_order_is_asked_four_times_with_the_same_change(call: Caller) -> None:
    call.server.faults.add("status", "post", times=4, status=503)
    failure = call.failure(call.put)
    assert (failure.code, failure.data["http_status"]) == ("BACKEND_UNAVAILABLE", 503)
    assert len(call.waits) == 3
    assert sum(call.waits) <= 30.0
    sent = [request.target for request in call.server.requests if request.method == "POST"]
    posts = [target for target in sent if "/i/n" in target]
    assert len(posts) == 4
    assert len(set(posts)) == 1


def test_a_refused_token_is_replaced_once_where_there_is_a_password(call: Caller) -> None:
    call.token = "worn-out"  # noqa: S105  # not one
    assert call.put().outcome == "stored"
    assert call.server.served["login"] == 1
    call.server.faults.add("status", "post", times=2, status=401)
    with pytest.raises(CredentialsRejected) as raised:
        call.put(1, content="two")
    assert raised.value.code == "TOKEN_REJECTED"


def test_without_token_and_password_nothing_is_sent(call: Caller) -> None:
    call.password = ""
    with pytest.raises(CredentialsRejected) as raised:
        call.get()
    assert raised.value.code == "LOGIN_REQUIRED"
    assert "rolltop notes login" in raised.value.hint
    assert not call.server.requests


@pytest.mark.parametrize(
    "said", ["invalid login", "compromised password", "verification required", "too many requests"]
)
def test_each_reason_to_refuse_a_login_has_its_own_message(call: Caller, said: str) -> None:
    call.server.faults.add("status", "login", status=401, text=said.title())
    with pytest.raises(CredentialsRejected) as raised:
        call.get()
    call.server.faults.add("status", "login", status=401, text="something else")
    with pytest.raises(CredentialsRejected) as other:
        call.get()
    assert raised.value.code == other.value.code == "LOGIN_FAILED"
    assert raised.value.message != other.value.message


def test_a_mailed_code_is_exchanged_for_a_token(simperium: Simperium) -> None:
    async def log_in(code: str) -> str:
        exchange = HttpClient(RequestLimits(), transport=InProcess(simperium))
        return await simperium_module.exchange_code(PLACES, EMAIL, code, exchange)

    asyncio.run(
        simperium_module.request_code(
            PLACES, EMAIL, HttpClient(RequestLimits(), transport=InProcess(simperium))
        )
    )
    code = simperium.codes[EMAIL]
    with pytest.raises(CredentialsRejected):
        asyncio.run(log_in("WRONG"))
    assert simperium.tokens[asyncio.run(log_in(f" {code.lower()}\n"))] == EMAIL


@pytest.mark.parametrize("fault", ["html", "shape", "redirect", "endless"])
@pytest.mark.parametrize("route", ["index", "login", "get", "post"])
def test_an_answer_that_is_not_simplenote_s_is_told_and_nothing_is_taken(
    call: Caller, fault: Any, route: Any
) -> None:
    call.token = next(iter(call.server.tokens)) if route != "login" else ""
    call.server.faults.add(fault, route)

    def ask() -> Any:
        if route == "index":
            return call(lambda c: c.index(limit=10, mark=None, since=None, data=True))
        return call.put() if route == "post" else call.get()

    if route == "get" and fault == "shape":
        return  # an object without content is a note, however empty
    with pytest.raises(RolltopError) as raised:
        ask()
    assert raised.value.code == "BACKEND_UNAVAILABLE"
    assert not call.server.notes(EMAIL).live()


class Answering(httpx2.AsyncBaseTransport):
    """A server that answers every request alike."""

    def __init__(self, body: bytes, headers: dict[str, str], status: int = 200) -> None:
        self.body: Final = body
        self.headers: Final = {"X-Simperium-Version": "1", **headers}
        self.status: Final = status

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(
            self.status, headers=self.headers, stream=Whole(self.body), request=request
        )


ASKED: Final[tuple[Callable[[SimplenoteBackend], Awaitable[Any]], ...]] = (
    lambda client: client.index(limit=10, mark=None, since=None, data=True),
    lambda client: client.get("n"),
    lambda client: client.put("n", NOTE, None, "c"),
    lambda client: client.delete("n", None, "c"),
)


def asked_of(
    call: Caller, transport: Answering, ask: Callable[[SimplenoteBackend], Awaitable[Any]]
) -> Any:
    """Return what a client answers, or the error it raises; any other error is a fault."""
    exchange = HttpClient(
        RequestLimits(max_body_bytes=1 << 20, retries=0), transport=transport, pause=call.pause
    )
    try:
        return call.through(exchange, ask)
    except RolltopError as error:
        return error


@pytest.mark.parametrize("layers", [1, 2])
def test_a_body_that_unpacks_to_far_too_much_is_not_unpacked(call: Caller, layers: int) -> None:
    call.token = "t"  # noqa: S105  # not one
    body = bytes(48 << 20)
    for _layer in range(layers):
        body = gzip.compress(body)
    bomb = Answering(body, {"Content-Encoding": ", ".join(["gzip"] * layers)})
    del body
    tracemalloc.start()
    failed = [asked_of(call, bomb, ask) for ask in ASKED]
    _now, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert all(isinstance(error, BackendError) for error in failed)
    assert most < 24 << 20


def test_a_large_answer_is_read_beside_the_event_loop(
    call: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[int] = set()
    check = note_object.sanitize_json

    def checking(value: Any, depth: int = 0) -> Any:
        threads.add(threading.get_ident())
        return check(value, depth)

    text = "ü\n😀" * 5_000
    for number in range(3):
        data = {**NOTE, "content": text, "odd": float("inf")}
        call.server.notes(EMAIL).post(f"n{number}", data, None, None)
    monkeypatch.setattr(note_object, "sanitize_json", checking)
    page = call(lambda client: client.index(limit=10, mark=None, since=None, data=True))
    assert [note.content.text for note in page.notes] == [text] * 3
    assert [note.data["odd"] for note in page.notes] == [None] * 3
    assert threads.isdisjoint({threading.get_ident()})


def test_an_answer_of_too_many_values_is_too_long(call: Caller) -> None:
    for number in range(3):
        data = {**NOTE, "tags": [f"tag {at}" for at in range(20_000)]}
        call.server.notes(EMAIL).post(f"n{number}", data, None, None)

    def read(limit: int) -> Any:
        return call(lambda client: client.index(limit=limit, mark=None, since=None, data=True))

    assert isinstance(call.failure(lambda: read(3)), BodyTooLong)
    assert len(read(1).notes) == 1


def test_a_packed_answer_is_unpacked(call: Caller) -> None:
    call.token = "t"  # noqa: S105  # not one
    for encoding, body in (
        ("gzip", gzip.compress(json.dumps(NOTE).encode())),
        ("identity", json.dumps(NOTE).encode()),
    ):
        got = asked_of(call, Answering(body, {"Content-Encoding": encoding}), ASKED[1])
        assert got.data == NOTE
    broken = Answering(b"not packed", {"Content-Encoding": "gzip"})
    assert asked_of(call, broken, ASKED[1]).data["subcategory"] == "unknown"


@given(
    st.sampled_from([200, 201, 204, 301, 400, 403, 404, 418, 999]),
    st.one_of(
        st.binary(max_size=20),
        st.deferred(lambda: HOSTILE),
        st.sampled_from([b"[" * 200_000, b'{"a":' * 200_000, b"1" * 5000, b"\xff\xfe{\x00"]),
    ),
    st.sampled_from(["1", "-1", "x", "9" * 30, "1.5", ""]),
)
@settings(
    max_examples=examples(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@example(200, rb'{"index": [], "current": "c", "mark": "\ud800"}', "1")
@example(200, rb'{"access_token": "\u20ac"}', "1")
@example(200, rb'{"access_token": "a\nb"}', "1")
def test_whatever_comes_back_is_taken_or_told(
    call: Caller, status: int, body: bytes, version: str
) -> None:
    for token in ("t", ""):
        call.token = token
        for ask in ASKED:
            transport = Answering(body, {"X-Simperium-Version": version}, status)
            found = asked_of(call, transport, ask)
            page = getattr(found, "mark", None)
            if page is not None:  # what goes on is asked for
                asked_of(call, transport, partial(_next_page, mark=page))


async def _next_page(client: SimplenoteBackend, mark: str) -> Any:
    return await client.index(limit=10, mark=mark, since="1", data=True)


def test_notes_of_an_unknown_form_are_passed_over(call: Caller) -> None:
    bucket = call.server.notes(EMAIL)
    bucket.post("good", NOTE, None, None)
    deep: list[Any] = []
    for _level in range(300):
        deep = [deep]
    bucket.post("bad", {"content": 5}, None, None)
    bucket.post("deep", {"content": "x", "own": deep}, None, None)
    bucket.post("none", NOTE, None, None)
    bucket.entities["none"].version = 1 << 40
    page = call(lambda c: c.index(limit=10, mark=None, since=None, data=True))
    assert [note.id for note in page.notes] == ["good"]
    assert sorted(page.unreadable) == ["bad", "deep", "none"]
    for name in ("bad", "deep", "none"):
        assert call.failure(lambda name=name: call.get(name)).data["subcategory"] == "unknown"


@pytest.mark.parametrize("name", ["../tag/i/x", "..", ".", "a/b", "a?b#c", "ü %2F", "a.b"])
def test_an_id_never_reaches_another_place(call: Caller, name: str) -> None:
    with Served(call.server) as served:
        places = SimplenoteEndpoints(f"{served.url}/1", f"{served.url}/1", "", APP_ID, API_KEY)

        async def put_and_get() -> RemoteNote | None:
            exchange = HttpClient(RequestLimits())
            client = SimplenoteBackend(places, Credentials(EMAIL, "", PASSWORD), exchange, "test")
            await client.put(name, NOTE, None, "c")
            got = await client.get(name, 1)
            await exchange.close()
            return got

        got = asyncio.run(put_and_get())
    assert got is not None
    assert list(call.server.notes(EMAIL).live()) == [name]
    assert list(call.server.buckets) == [(EMAIL, "note")]


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock is `skipped` seconds ahead."""

    skipped = 0.0

    def time(self) -> float:
        """Return the seconds of the clock, those left out included."""
        return super().time() + self.skipped


@pytest.mark.parametrize(
    ("fault", "code", "arrived"),
    [
        ("silent", "BACKEND_TIMEOUT", False),
        ("late", "BACKEND_TIMEOUT", True),
        ("lost", "BACKEND_UNAVAILABLE", True),
        ("endless", "BACKEND_UNAVAILABLE", False),
    ],
)
def test_over_a_real_connection_every_request_ends_and_a_write_says_it_may_have_arrived(
    simperium: Simperium,
    fault: Any,
    code: str,
    arrived: bool,  # noqa: FBT001  # drawn
) -> None:
    with Served(simperium) as served:
        places = SimplenoteEndpoints(f"{served.url}/1", f"{served.url}/1", "", APP_ID, API_KEY)

        async def put() -> None:
            limits = RequestLimits(timeout=60, max_body_bytes=1 << 20)
            exchange = HttpClient(limits)
            client = SimplenoteBackend(places, Credentials(EMAIL, "", PASSWORD), exchange, "test")
            await client.authenticate()
            simperium.faults.add(fault, "post")
            request = asyncio.ensure_future(client.put("n", NOTE, None, "c"))
            try:
                if code == "BACKEND_TIMEOUT":
                    await asyncio.to_thread(served.unanswered.wait)
                    clock.skipped = limits.timeout
                await request
            finally:
                await exchange.close()

        clock = SkippingLoop()
        with (
            pytest.raises(BackendError) as raised,
            asyncio.Runner(loop_factory=lambda: clock) as run,
        ):
            run.run(put())
    assert raised.value.code == code
    assert raised.value.may_have_arrived
    assert raised.value.data["details"] == {"may_have_arrived": True}
    assert bool(simperium.notes(EMAIL).live()) == arrived


@dataclass
class Unanswered(httpx2.AsyncBaseTransport):
    """A network in which every request fails in one way; keeps how long each would have waited."""

    failure: type[httpx2.TimeoutException]
    limit: str
    waited: list[float] = field(default_factory=list[float])

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.waited.append(request.extensions["timeout"][self.limit])
        raise self.failure("no answer", request=request)


def test_a_write_and_its_look_up_end_before_the_call_does(simperium: Simperium) -> None:
    network = Unanswered(httpx2.ReadTimeout, "read")

    async def write(client: SimplenoteBackend) -> None:
        for ask in (client.put("n", NOTE, None, "c"), client.get("n")):
            with pytest.raises(BackendError) as raised:
                await ask
            assert raised.value.code == "BACKEND_TIMEOUT"

    exchange = HttpClient(RequestLimits(), transport=network)
    Caller(simperium, [], "t").through(exchange, write)
    assert (len(network.waited), network.waited[0]) == (2, RequestLimits().timeout)
    assert sum(network.waited) < 45  # of the 60 s of a call


def test_a_network_that_swallows_all_is_asked_once(simperium: Simperium) -> None:
    call, network = Caller(simperium, [], "t"), Unanswered(httpx2.ConnectTimeout, "connect")
    exchange = HttpClient(RequestLimits(), transport=network, pause=call.pause)
    put = partial(call.through, exchange, lambda client: client.put("n", NOTE, None, "c"))
    failure = call.failure(put)
    assert (failure.code, failure.may_have_arrived) == ("BACKEND_TIMEOUT", False)
    assert network.waited[0] < RequestLimits().timeout
    assert (len(network.waited), call.waits) == (1, [])


def test_a_server_that_is_not_there_is_out_of_reach(simperium: Simperium) -> None:
    with Served(simperium) as served:
        url = served.url
    places = SimplenoteEndpoints(f"{url}/1", f"{url}/1", "", APP_ID, API_KEY)
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    async def get() -> None:
        exchange = HttpClient(RequestLimits(), pause=pause)
        await SimplenoteBackend(places, Credentials(EMAIL, "t"), exchange, "test").get("n")

    with pytest.raises(BackendError) as raised:
        asyncio.run(get())
    assert raised.value.code == "BACKEND_UNAVAILABLE"
    assert len(waits) == 3


def test_neither_token_nor_text_is_logged(call: Caller, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    caplog.set_level(logging.DEBUG, logger="rolltop")
    call.put(content="a secret thought")
    call.server.faults.add("html", None, times=2)
    call.failure(call.get)
    (token,) = set(call.server.tokens) - {f"token-0-{EMAIL}"}
    for hidden in (token, PASSWORD, "secret thought"):
        assert hidden not in caplog.text


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    data=st.fixed_dictionaries(
        {"content": st.text(max_size=20)},
        optional={
            "tags": st.lists(st.text(max_size=5), max_size=3),
            "systemTags": st.lists(st.sampled_from(["markdown", "pinned"]), max_size=2),
            "deleted": st.sampled_from([0, 1, True, False]),
            "creationDate": st.floats(0, 1e10),
            "modificationDate": st.floats(0, 1e10) | st.integers(0, 10**10),
            "shareURL": st.text(max_size=5),
            "unheardOf": JSON,
        },
    ),
    text=st.text(max_size=20),
)
@settings(max_examples=examples(50))
def test_what_is_not_changed_of_an_object_goes_back_as_it_came(
    data: dict[str, Any], text: str
) -> None:
    content = note_object.parse_content(data)
    assert {
        key: value for key, value in note_object.build_object(content, data).items() if key in data
    } == data
    changed = replace(content, text=text)
    assert note_object.build_object(changed, data) == {
        **note_object.build_object(content, data),
        "content": text,
    }


@given(JSON | st.floats() | st.text(st.characters()) | st.lists(st.text(st.characters())))
@settings(max_examples=examples(50))
def test_whatever_is_kept_can_be_kept(value: Any) -> None:
    kept = note_object.sanitize_json(value)
    text = json.dumps(kept, allow_nan=False, ensure_ascii=False)
    assert "\\u0000" not in text
    assert json.loads(text.encode()) == kept
    assert note_object.sanitize_json(kept) == kept


ODD: Final[st.SearchStrategy[Any]] = st.one_of(
    JSON, st.text(st.characters(), max_size=3), st.integers(-(10**30), 10**30)
)
LISTED: Final[st.SearchStrategy[Any]] = st.fixed_dictionaries(
    {}, optional={"id": ODD, "v": ODD, "d": st.dictionaries(st.text(max_size=5), ODD)}
)
FIELDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "current": st.one_of(ODD, st.just("c")),
    "mark": ODD,
    "index": st.lists(st.one_of(ODD, LISTED), max_size=3),
    **dict.fromkeys(("access_token", "content", "tags", "deleted", "modificationDate"), ODD),
}
HOSTILE: Final = st.fixed_dictionaries({}, optional=FIELDS).map(json.dumps).map(str.encode)


def test_what_cannot_be_kept_becomes_what_can() -> None:
    assert note_object.sanitize_json("a\0\ud800b\U0001f600") == "a\ufffd\ufffdb\U0001f600"
    assert note_object.sanitize_json({"a": [float("inf"), 1.5]}) == {"a": [None, 1.5]}
