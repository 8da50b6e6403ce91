"""The page as an ASGI application: its routes, and the headers that every answer carries."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from importlib import resources
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router
from starlette.types import Message, Receive, Scope, Send

from rolltop.core.context import AppContext
from rolltop.core.errors import RateLimited
from rolltop.web.pages import (
    address,
    events,
    files,
    home,
    journal,
    login,
    notes,
    pads,
    system,
    tasks,
    trash,
)
from rolltop.web.render import Renderer
from rolltop.web.visit import Handler, Login, PageFailure, Streams, Visit

_PAGES: Final = (
    home,
    tasks,
    notes,
    pads,
    files,
    journal,
    trash,
    system,
    address,
    events,
)
_TYPES: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class WebPage:
    """The page for people, and what is there for those who are not logged in: the login."""

    def __init__(
        self, app: AppContext, sessions: Login, hold_back: Callable[[], Awaitable[None]]
    ) -> None:
        """`hold_back` waits before whoever is over a limit is told so."""
        self._app = app
        self._sessions = sessions
        self._hold_back = hold_back
        self._renderer = Renderer()
        self._streams = Streams()
        self._static = {
            one.name: one for one in resources.files("rolltop.web").joinpath("static").iterdir()
        }
        routes = [Route("/static/{name}", self._show_static)]
        for path, method, handler in login.ROUTES:
            routes.append(Route(path, self._endpoint(handler, is_public=True), methods=[method]))
        for page in _PAGES:
            for path, method, handler in page.ROUTES:
                routes.append(Route(path, self._endpoint(handler), methods=[method]))
        self._show_not_found = self._endpoint(_find_no_page)
        self._router = Router(routes, default=self._answer_not_found)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._router(scope, receive, send_with_headers)

    async def _answer_not_found(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if "text/html" in request.headers.get("accept", ""):
            response = await self._show_not_found(request)
        else:
            response = await _answer_not_found_json()
        await response(scope, receive, send)

    def close_streams(self) -> None:
        """Let the streams of changes end."""
        self._streams.ended.set()

    def _endpoint(
        self, handler: Handler, *, is_public: bool = False
    ) -> Callable[[Request], Awaitable[Response]]:
        """Return the handler as Starlette calls it: for a visit of somebody who is logged in."""

        async def serve(request: Request) -> Response:
            visit = Visit(request, self._app, self._sessions, self._renderer, self._streams)
            response = await _answer(visit, handler, is_public=is_public)
            if response.status_code == HTTPStatus.TOO_MANY_REQUESTS:
                await self._hold_back()
            return response

        return serve

    async def _show_static(self, request: Request) -> Response:
        name: str = request.path_params["name"]
        kind = _TYPES.get(name.rpartition(".")[2])
        found = self._static.get(name)
        if kind is None or found is None:
            return await _answer_not_found_json()
        headers = {"cache-control": "max-age=3600"}
        return Response(found.read_bytes(), media_type=kind, headers=headers)


async def _answer(visit: Visit, handler: Handler, *, is_public: bool) -> Response:
    try:
        await visit.identify()
        if visit.request.method == "POST":
            await visit.read_form()
        if not visit.is_logged_in and not is_public:
            return await login.show_login(visit)
        if visit.request.method == "POST":
            visit.check_form()
        return await handler(visit)
    except PageFailure as failure:
        typed = await visit.find_typed_texts()
        response = visit.render("failure", failure.status, failure=failure, typed=typed)
        if failure.status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:  # the form's rest is not read
            response.headers["connection"] = "close"
        return response
    except RateLimited as limited:
        failure = PageFailure(429, limited.message, limited.hint)
        response = visit.render("failure", failure.status, failure=failure)
        response.headers["retry-after"] = str(limited.retry_after)
        return response


async def _find_no_page(_visit: Visit) -> Response:
    raise PageFailure(404, "There is no such page")


async def _answer_not_found_json() -> Response:
    text = "There is / (the page for people), /mcp, /health, /ready and /metrics"
    return JSONResponse({"error": text}, 404)
