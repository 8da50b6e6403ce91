"""One request of a person: who that is, the calls it makes, the form it sent, its answer."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import Any, Concatenate, Final, ParamSpec, Protocol, TypeVar, cast
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.dispatch import UnknownTool, dispatch
from rolltop.core.principal import Principal
from rolltop.core.tools import JsonObject
from rolltop.web.form_texts import typed_texts
from rolltop.web.render import Renderer

P = ParamSpec("P")
T = TypeVar("T")
Handler = Callable[["Visit"], Awaitable[Response]]
PageRoute = tuple[str, str, Handler]

SESSION_SECONDS: Final = 7 * 24 * 3600
CSRF_FIELD: Final = "csrf"
_COOKIE: Final = "rolltop_page"
_SECRET_BYTES: Final = 32
_MAX_LOGIN_BYTES: Final = 16_384
_STRANGERS: Final = "strangers"
"""Take turns as one caller."""
MAX_FORM_BYTES: Final = 4 * 1024 * 1024
"""A text of 1 MiB whose every byte is written as %XX, and its other fields."""
MAX_STREAMS: Final = 1000
MAX_USER_STREAMS: Final = 20
"""Of one process, as of streams over MCP."""
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_NOT_OF_THIS_SESSION: Final = (
    "The form is not of this session",
    "Load the page again and repeat the step.",
)
_MAX_FIELDS: Final = 1000
_MAX_DIGITS: Final = 18
"""Of a number that the store can keep."""
_STATUSES: Final = {
    "REPO_INVALID": 404,
    "FOUND": 404,
    "CONFLICT": 409,
    "UNAVAILABLE": 503,
    "TIMEOUT": 503,
}
"""By tools' codes of errors, or how they end."""


class Login(Protocol):
    """Sessions: who may see the page."""

    async def takes_links(self) -> bool:
        """Whether a link is the login here, and not a token."""
        ...

    async def use_link(self, link: str, address: str) -> str | None:
        """Return the secret of the session that the link begins; None if it is worth nothing."""
        ...

    async def use_token(self, token: str, address: str) -> str | None:
        """Return the secret of the session that the token begins; None if it is unknown.

        Raises RateLimited if too many unknown ones came from the address.
        """
        ...

    async def find_principal(self, secret: str, address: str) -> Principal | None:
        """Return whose session it is; None if it is over. Raises RateLimited."""
        ...

    async def close(self, secret: str) -> None:
        """End a session."""
        ...


def is_origin_of(host: str, origin: str) -> bool:
    """Whether a page's Origin is of a host, to which a proxy may have added its scheme's port."""
    scheme, _, authority = origin.lower().partition("://")
    return host.lower() in {authority, f"{authority}:{_DEFAULT_PORTS.get(scheme)}"}


def find_number(text: str) -> int | None:
    """Return the number that a text is; None for another text and for more than there can be."""
    return int(text) if text.isdecimal() and len(text) <= _MAX_DIGITS else None


def parse_number(text: str) -> int | None:
    """Return the number that a visitor sent; None for none.

    Raises:
        PageFailure: it is no number, or a longer one than there can be.

    """
    if not text:
        return None
    number = find_number(text)
    if number is None:
        raise PageFailure(400, f"{text[:_MAX_DIGITS]} is no number that is known here")
    return number


class Streams:
    """The open streams of changes; all of them end once `ended` is set."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._opened: Counter[str] = Counter()
        """How many each user has."""

    @contextmanager
    def place(self, user_id: str) -> Generator[None]:
        """Hold one of a user's places. Raises PageFailure if all are taken."""
        if self._opened.total() >= MAX_STREAMS or self._opened[user_id] >= MAX_USER_STREAMS:
            raise PageFailure(503, "Too many pages are open")
        self._opened[user_id] += 1
        try:
            yield
        finally:
            self._opened[user_id] -= 1
            if not self._opened[user_id]:
                del self._opened[user_id]


class PageFailure(Exception):
    """What cannot be shown or done: the status, what is wrong and what helps."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint


class ToolFailure(PageFailure):
    """The error that a tool answered, in whichever toolset's shape; `data` has its details."""

    def __init__(self, answer: JsonObject) -> None:
        nested = answer.get("error")
        error = cast("JsonObject", nested) if isinstance(nested, dict) else answer
        self.code = str(error.get("code") or "ERROR")
        message = str(error.get("message") or error.get("error") or "")
        hint = str(error.get("hint") or error.get("resolution_hint") or "")
        ending = self.code.rpartition("_")[2]
        status = _STATUSES.get(self.code) or _STATUSES.get(ending, 400)
        super().__init__(status, message, hint)
        self.data: JsonObject = error.get("details") or answer.get("data") or {}


class Visit:
    """One request, and all that answering it takes."""

    def __init__(
        self,
        request: Request,
        app: AppContext,
        sessions: Login,
        renderer: Renderer,
        streams: Streams,
    ) -> None:
        self.request = request
        self.app = app
        self.sessions = sessions
        self.streams = streams
        self.form: Mapping[str, str] = {}
        self._renderer = renderer
        self._principal: Principal | None = None
        port = request.headers.get("host", "").rpartition(":")[2]
        # Cookies know no ports: two servers on one host must not log each other out.
        self._cookie = f"{_COOKIE}_{port}" if port.isdecimal() else _COOKIE
        self._secret = request.cookies.get(self._cookie, "")
        self._new_secret: str | None = None
        site = request.headers.get("sec-fetch-site")
        self.is_from_elsewhere: Final = not self._secret and site == "cross-site"
        """Whether another site led here: a cookie that there may be was not sent."""
        if not self._secret:
            self.begin_session(secrets.token_urlsafe(_SECRET_BYTES))
        if self.is_from_elsewhere:
            self._new_secret = None

    async def identify(self) -> None:
        """Find out who is logged in, if anybody is."""
        if self._new_secret is None:
            async with self.app.deadline("Finding who is logged in", "Try again."):
                self._principal = await self.sessions.find_principal(self._secret, self.address)

    @property
    def address(self) -> str:
        """Where the request came from; empty for a Unix socket."""
        return self.request.client.host if self.request.client else ""

    @property
    def is_logged_in(self) -> bool:
        """Whether somebody is."""
        return self._principal is not None

    @property
    def principal(self) -> Principal:
        """Who is logged in."""
        if self._principal is None:
            raise PageFailure(401, "You are not logged in")
        return self._principal

    @property
    def is_operator(self) -> bool:
        """Whether this is who runs the server, and not one of those who have tokens for it."""
        return not self.principal.token_id

    @property
    def csrf(self) -> str:
        """What every form of this session carries, and no other page can know."""
        return hmac.new(self._secret.encode(), b"csrf", hashlib.sha256).hexdigest()

    def argument(self, name: str) -> str:
        """Return a parameter of the address, without NULs and blanks around it; empty for none."""
        return self.request.query_params.get(name, "").replace("\0", "").strip()

    def offers(self, *tools: str) -> bool:
        """Whether this person may use these tools here."""
        try:
            for tool in tools:
                self.app.registry.find(tool, self.principal)
        except UnknownTool:
            return False
        return True

    def offers_any(self, tools: Iterable[str]) -> bool:
        """Whether this person may use one of these tools here."""
        return any(map(self.offers, tools))

    def require(self, tool: str) -> None:
        """Raise PageFailure unless this person may use the tool here."""
        if not self.offers(tool):
            raise PageFailure(404, f"{tool} is not offered here")

    async def call(self, tool: str, /, **arguments: Any) -> JsonObject:  # noqa: ANN401  # any JSON
        """Return what a tool answers; arguments that are None or "" are left out.

        Raises:
            PageFailure: the tool is not offered to this person, or it answers an error.

        """
        given = {name: value for name, value in arguments.items() if value not in (None, "")}
        return await self.call_exactly(tool, given)

    async def call_exactly(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Return what a tool answers to these arguments. Raises PageFailure."""
        try:
            answer = await dispatch(self.app, tool, self.principal, arguments, max_result_tokens=0)
        except UnknownTool as unknown:
            raise PageFailure(404, unknown.message) from None
        if answer.is_error:
            raise ToolFailure(answer.structured)
        return answer.structured

    async def read(
        self, function: Callable[Concatenate[Tx, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run `function(tx, …)` in one read transaction of this person's on a worker thread."""
        async with self.app.turn(self.principal, "read"):
            return await self.app.database.read(self.principal, function, *args, **kwargs)

    async def run_in_thread(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run `function(…)` on a worker thread with no transaction."""
        known, turns = self._principal, self.app.turns
        turn = self.app.turn(known, "work") if known else turns.turn(_STRANGERS, "work")
        async with turn:
            return await self.app.run_in_thread(function, *args, **kwargs)

    async def read_form(self) -> None:
        """Read the form that was sent. Raises PageFailure: it is too large, or of another site."""
        body = await self._read_body()
        origin = self.request.headers.get("origin", "")
        if origin and not is_origin_of(self.request.headers.get("host", ""), origin):
            raise PageFailure(403, *_NOT_OF_THIS_SESSION)
        try:
            self.form = await self.run_in_thread(_parse_form, body)
        except ValueError:
            raise PageFailure(400, "That is no form of this page") from None

    def check_form(self) -> None:
        """Raise PageFailure unless a page of this session made the form that was sent."""
        sent = self.form.get(CSRF_FIELD, "").encode()
        if not hmac.compare_digest(sent, self.csrf.encode()):
            raise PageFailure(403, *_NOT_OF_THIS_SESSION)

    async def find_typed_texts(self) -> dict[str, str]:
        """Return the texts that a person typed into the form that was sent, by field."""
        return await self.run_in_thread(typed_texts, self.form) if self.form else {}

    async def _read_body(self) -> bytes:
        if self.is_logged_in:
            limit = min(self.app.settings["http.max_body"], MAX_FORM_BYTES)
            message, hint = f"A form may have at most {limit} bytes", "Go back to shorten it."
        else:  # of strangers little is read; the browser still has the rest
            limit = _MAX_LOGIN_BYTES
            message = "You are not logged in, or not any more"
            hint = "Log in in another tab, then reload this page: it shows the text that you sent."
        too_large = PageFailure(413, message, hint)
        if (parse_number(self.request.headers.get("content-length", "")) or 0) > limit:
            raise too_large
        body = bytearray()
        try:
            async with AsyncExitStack() as turns:
                async for chunk in self.request.stream():
                    if len(body) + len(chunk) > limit:
                        raise too_large
                    # Of large forms a person may send as many at once as of large bodies over MCP.
                    if len(body) <= _MAX_LOGIN_BYTES < len(body) + len(chunk):
                        await turns.enter_async_context(self.app.turn(self.principal, "upload"))
                    body += chunk
        except ClientDisconnect:
            raise PageFailure(400, "The form ended early") from None
        return bytes(body)

    def begin_session(self, secret: str) -> None:
        """Let the answer carry the cookie of another session."""
        self._secret = self._new_secret = secret

    async def end_session(self) -> None:
        """Log out."""
        await self.sessions.close(self._secret)
        self._principal = None
        self.begin_session(secrets.token_urlsafe(_SECRET_BYTES))

    def render(self, template: str, status: int = 200, /, **values: Any) -> Response:  # noqa: ANN401  # what the template shows
        """Return a page."""
        html = self._renderer.render(template, visit=self, **values)
        return self._with_cookie(HTMLResponse(html, status))

    def redirect(self, path: str) -> Response:
        """Return the answer to a form that was sent: where to look now."""
        return self._with_cookie(RedirectResponse(path, 303))

    def _with_cookie(self, response: Response) -> Response:
        if self._new_secret is not None:
            response.set_cookie(
                self._cookie,
                self._new_secret,
                max_age=SESSION_SECONDS,
                secure=self.request.headers.get("x-forwarded-proto") == "https",
                httponly=True,
                samesite="strict",
            )
        return response


def _parse_form(body: bytes) -> dict[str, str]:
    """Return a form's fields. Called on a thread. Raises ValueError."""
    text = body.decode("ascii")
    pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    # Browsers send every line break as CR LF, whatever it was.
    return {name: value.replace("\r\n", "\n") for name, value in pairs}
