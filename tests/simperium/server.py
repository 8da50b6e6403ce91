"""The server without a network: a request in, a reply out."""

from __future__ import annotations

import json
import threading
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qs, unquote, urlsplit

from tests.simperium.bucket import Bucket, Rejected
from tests.simperium.faults import Fault, FaultPlan, Route

APP_ID: Final = "chalk-bump-f49"
API_KEY: Final = "test-key"
Delivery = Literal["whole", "none", "close", "endless"]
_CARRIED_OUT: Final = {"lost", "late", "half", "empty_index", "old_cursor"}


@dataclass(frozen=True)
class Request:
    """What a client sent; header names are in lower case, `target` is path and query."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """What the client gets: whole, never (`none`), a closed connection, or without an end."""

    status: int
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    delivery: Delivery = "whole"


@dataclass
class Simperium:
    """Users, their tokens and buckets. One request at a time; any thread may ask."""

    users: dict[str, str] = field(default_factory=dict[str, str])
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    codes: dict[str, str] = field(default_factory=dict[str, str])
    buckets: dict[tuple[str, str], Bucket] = field(default_factory=dict[tuple[str, str], Bucket])
    faults: FaultPlan = field(default_factory=FaultPlan)
    served: Counter[str] = field(default_factory=Counter[str])
    requests: deque[Request] = field(default_factory=lambda: deque[Request](maxlen=500))
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def add_user(self, email: str, password: str) -> str:
        """Return the token of a new user."""
        self.users[email] = password
        return self._token(email)

    def notes(self, email: str) -> Bucket:
        """Return a user's notes."""
        return self.buckets.setdefault((email, "note"), Bucket())

    def answer(self, request: Request) -> Reply:
        """Return the reply to a request, or what a planned fault makes of it."""
        with self._one_at_a_time:
            route = _route(request)
            self.served[route] += 1
            self.requests.append(request)
            fault = self.faults.take(route)
            if fault is not None and fault.kind not in _CARRIED_OUT:
                return _failed(fault)
            return _spoiled(fault, self._answer(request))

    def _answer(self, request: Request) -> Reply:
        try:
            return self._routed(request)
        except Rejected as rejected:
            return Reply(rejected.status, rejected.text.encode())

    def _routed(self, request: Request) -> Reply:
        parts = urlsplit(request.target)
        path = [unquote(part) for part in parts.path.strip("/").split("/")]
        match path:
            case ["account", action]:
                return self._account(action, _json(request))
            case ["1", app, "authorize" | "create" as action] if app == APP_ID:
                return self._authorize(request, create=action == "create")
            case ["1", app, bucket, *rest] if app == APP_ID and rest:
                email = self.tokens.get(request.headers.get("x-simperium-token", ""))
                if email is None:
                    raise Rejected(401, "invalid token")
                query = {name: given[-1] for name, given in parse_qs(parts.query).items()}
                held = self.buckets.setdefault((email, bucket), Bucket())
                return _data(held, request, rest, query)
            case _:
                raise Rejected(404, "no such place")

    def _authorize(self, request: Request, *, create: bool) -> Reply:
        if request.headers.get("x-simperium-api-key") is None:
            raise Rejected(401, "missing api key")
        given = _json(request)
        email, password = str(given.get("username")), str(given.get("password"))
        if create and email not in self.users:
            self.users[email] = password
        elif create:
            raise Rejected(409, "already exists")
        if self.users.get(email) != password:
            raise Rejected(401, "invalid login")
        return _whole({"username": email, "access_token": self._token(email), "userid": email})

    def _account(self, action: str, given: dict[str, Any]) -> Reply:
        email = str(given.get("username"))
        if action == "request-login" and given.get("request_source"):
            if email in self.users:
                self.codes[email] = f"AB{len(self.tokens):02}CD"
            return _whole({})
        if action == "complete-login" and email in self.codes:
            if given.get("auth_code") != self.codes[email]:
                raise Rejected(400, "invalid code")
            del self.codes[email]
            return _whole({"username": email, "sync_token": self._token(email)})
        raise Rejected(400, "invalid")

    def _token(self, email: str) -> str:
        token = f"token-{len(self.tokens)}-{email}"
        self.tokens[token] = email
        return token


def _data(bucket: Bucket, request: Request, rest: list[str], query: dict[str, str]) -> Reply:
    """Return the reply to a request for a bucket."""
    if rest == ["index"] and request.method == "GET":
        limit = int(query["limit"]) if "limit" in query else None
        data = query.get("data", "0").lower() in {"1", "true"}
        return _whole(bucket.index(limit, query.get("mark"), query.get("since"), data=data))
    match rest:
        case ["i", name]:
            base = None
        case ["i", name, "v", number] if number.isascii() and number.isdigit():
            base = int(number)
        case _:
            raise Rejected(404, "no such place")
    if request.method == "GET":
        version, data = bucket.get(name, base)
        return _whole(data, version)
    ccid = query.get("ccid")
    if request.method == "DELETE":
        return Reply(200, b"", {"X-Simperium-Version": str(bucket.delete(name, base, ccid))})
    if request.method != "POST":
        raise Rejected(405, "no such method")
    replace = query.get("replace") == "1"
    version, data = bucket.post(name, _value(request), base, ccid, replace=replace)
    wanted = data if query.get("response") == "1" else None
    return _whole(wanted, version)


def _route(request: Request) -> Route:
    path = request.target.partition("?")[0]
    if path.startswith("/account/") or path.rstrip("/").endswith(("/authorize", "/create")):
        return "login"
    if path.endswith("/index"):
        return "index"
    methods: dict[str, Route] = {"POST": "post", "DELETE": "delete"}
    return methods.get(request.method, "get")


def _failed(fault: Fault) -> Reply:
    """Return what a client gets of a request that was not carried out."""
    status = Reply(fault.status, fault.text.encode(), dict(fault.headers))
    return {
        "unreachable": Reply(0, delivery="close"),
        "silent": Reply(0, delivery="none"),
        "html": Reply(200, b"<html><body>Sign in</body></html>", {"Content-Type": "text/html"}),
        "shape": Reply(200, b'{"current": 5, "index": {"id": []}, "access_token": null}'),
        "endless": Reply(200, b'{"index": [', delivery="endless"),
        "redirect": Reply(302, b"", {"Location": "http://127.0.0.2:9/elsewhere"}),
    }.get(fault.kind, status)


def _spoiled(fault: Fault | None, reply: Reply) -> Reply:
    """Return what a client gets of a request that was carried out."""
    if fault is None:
        return reply
    if fault.kind in {"lost", "late"}:
        return Reply(0, delivery="close" if fault.kind == "lost" else "none")
    if reply.status != 200:
        return reply
    if fault.kind == "half":
        return Reply(reply.status, reply.body[: len(reply.body) // 2], reply.headers)
    answer: dict[str, Any] = json.loads(reply.body)
    if fault.kind == "empty_index":
        return _whole({"index": [], "current": answer["current"]})
    return _whole({**answer, "current": "1-0"})


def _whole(value: Any, version: int | None = None) -> Reply:
    headers = {"Content-Type": "application/json"}
    if version is not None:
        headers["X-Simperium-Version"] = str(version)
    return Reply(200, b"" if value is None else json.dumps(value).encode(), headers)


def _value(request: Request) -> Any:
    try:
        return json.loads(request.body)
    except ValueError:
        raise Rejected(400, "not JSON") from None


def _json(request: Request) -> dict[str, Any]:
    value = _value(request)
    if not isinstance(value, dict):
        raise Rejected(400, "not an object")
    return value  # pyright: ignore[reportUnknownVariableType]  # any JSON object
