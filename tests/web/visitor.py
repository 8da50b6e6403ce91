"""People at the page: what a browser does with it, without one."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urldefrag, urlencode, urljoin, urlsplit

from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.principal import Principal
from rolltop.server.auth import Authenticator
from rolltop.server.metrics import Metrics
from rolltop.server.page_login import PageLogin
from rolltop.server.routes import HttpApp
from tests.server.apps import make_app

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

HOST: Final = "127.0.0.1:8765"
_CR_OR_LF: Final = re.compile(r"\r\n|\r|\n")
Attributes = dict[str, str]


@dataclass
class Form:
    """A form of a page: where it goes, and its fields with the values they have."""

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict[str, str])


class Page(HTMLParser):
    """What a page answers, taken apart."""

    def __init__(self, status: int, headers: Mapping[str, str], body: str) -> None:
        super().__init__()
        self.status, self.headers, self.body = status, headers, body
        self.elements: list[tuple[str, Attributes]] = []
        self.forms: list[Form] = []
        self.text = ""
        self._area = ""
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.elements.append((tag, given))
        if tag == "form":
            self.forms.append(Form(given.get("action", ""), given.get("method", "get")))
        elif tag == "input" and self.forms and "name" in given:
            if given.get("type") not in {"checkbox", "radio"} or "checked" in given:
                # An input has one line, whatever its value has.
                value = _CR_OR_LF.sub("", given.get("value", ""))
                self.forms[-1].fields[given["name"]] = value
        elif tag == "textarea":
            self._area = given["name"]
            self.forms[-1].fields[self._area] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            # A browser leaves out the first line break of what stands between the tags.
            text = self.forms[-1].fields[self._area]
            self.forms[-1].fields[self._area] = text.removeprefix("\n")
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.forms[-1].fields[self._area] += data
        self.text += data

    def links(self) -> list[str]:
        """Return where the page's links lead, in order."""
        return [attrs["href"] for tag, attrs in self.elements if tag == "a" and "href" in attrs]

    def form(self, action: str) -> Form:
        """Return the first form that goes there."""
        return next(form for form in self.forms if form.action.partition("?")[0] == action)


class Site:
    """A server's routes over HTTP, without its sockets; `ask` sends one request."""

    def __init__(self, folder: Path, *, trusts_links: bool = False, **settings: Any) -> None:
        self.runner = asyncio.Runner()
        app = make_app(folder, http=True, **settings)
        self.app = app.context
        authentication = Authenticator(app.context, app.user, exposed=False)
        self.login = PageLogin(app.context, app.user, authentication, trusts_links=trusts_links)
        self.routes = HttpApp(app, authentication, self.login, None, Metrics(app))

    def close(self) -> None:
        self.app.close()
        self.runner.close()

    def link(self) -> str:
        """Return the path of a link that lets the local user in."""
        return f"/login?link={self.runner.run(self.login.create_link())}"

    def agent(self, user_id: str = "", actor: str = "claude") -> Callable[..., Any]:
        """Return what calls tools as an agent of the user does, by default of the local one."""
        if not user_id:
            user_id = self.app.database.write_sync(SYSTEM, ensure_default_user).id
        principal = Principal.for_user(user_id, actor=actor)

        def call(tool: str, /, **arguments: Any) -> Any:
            answer = self.runner.run(dispatch(self.app, tool, principal, arguments))
            assert not answer.is_error, answer.text
            return answer.structured

        return call

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes = b"",
        receive: Callable[[], Awaitable[Any]] | None = None,
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        """Return status, headers and body of one request."""
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        self.runner.run(self.serve(method, path, headers, send, body, receive))
        start = sent[0]
        given = [(k.decode().lower(), v.decode()) for k, v in start["headers"]]
        return start["status"], given, b"".join(part.get("body", b"") for part in sent[1:])

    async def serve(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        send: Callable[[Any], Awaitable[None]],
        body: bytes = b"",
        receive: Callable[[], Awaitable[Any]] | None = None,
    ) -> None:
        """Serve one request; `send` gets what is answered, `receive` gives the body in parts."""
        parts = urlsplit(path)
        plain = unquote(parts.path)
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": plain,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "server": ("127.0.0.1", 8765),
            "client": ("127.0.0.1", 50000),
            "headers": [(k.lower().encode(), v.encode()) for k, v in headers.items()],
        }
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_body() -> Any:
            if waiting:
                return waiting.pop()
            return await asyncio.Event().wait()  # nobody leaves

        await self.routes(scope, receive or receive_body, send)


class Visitor:
    """A browser with its cookies."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.cookies: dict[str, str] = {}
        self.set_cookies: list[str] = []

    def get(self, path: str) -> Page:
        """Open a page."""
        return self._ask("GET", path)

    def submit(
        self, form: Form, headers: Mapping[str, str] | None = None, /, **changed: str
    ) -> Page:
        """Send a form with some fields changed, and go where the answer says."""
        fields = {**form.fields, **changed}
        if form.method == "get":
            return self.get(f"{form.action}?{urlencode(fields)}")
        # As browsers send line breaks.
        text = urlencode({k: _CR_OR_LF.sub("\r\n", v) for k, v in fields.items()})
        page = self._ask("POST", form.action, headers, text.encode())
        return self.get(page.headers["location"]) if page.status == 303 else page

    def own_headers(self) -> dict[str, str]:
        """Return the headers of a request of this browser."""
        cookie = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        return {"Host": HOST, "Accept": "text/html", **(cookie if self.cookies else {})}

    def log_in(self) -> Page:
        """Follow a link that lets in; return the first screen."""
        assert self.get(self.site.link()).status == 200
        return self.get("/")

    def _ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> Page:
        given = {**self.own_headers(), **(headers or {})}
        status, sent, answer = self.site.ask(method, path, given, body)
        for name, value in sent:
            if name == "set-cookie":
                self.set_cookies.append(value)
                key, _, secret = value.partition(";")[0].partition("=")
                self.cookies[key] = secret
        return Page(status, dict(sent), answer.decode())

    def crawl(self, start: str = "/") -> dict[str, Page]:
        """Open every page that links lead to from there; return them by address."""
        seen: dict[str, Page] = {}
        waiting = [start]
        while waiting:
            path = waiting.pop()
            if path in seen:
                continue
            page = seen[path] = self.get(path)
            for link in page.links():
                target = urldefrag(urljoin(f"http://{HOST}{path}", link)).url
                if target.startswith(f"http://{HOST}/"):
                    waiting.append(target.removeprefix(f"http://{HOST}"))
        return seen
