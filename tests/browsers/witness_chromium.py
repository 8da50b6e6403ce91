"""Pages in Chromium: those of an allowed origin call the server, all others cannot."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import sync_playwright

from tests.server.processes import LEGACY, MODERN, HttpServer, rpc_request

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The pages' names are this machine: no look-up leaves it.
    "--host-resolver-rules=MAP * 127.0.0.1",
]
CALL = """async ([url, headers, body]) => {
    try {
        const response = await fetch(url, {method: "POST", headers, body});
        return [response.status, response.headers.get("www-authenticate"), await response.text()];
    } catch (failure) { return [0, null, String(failure)]; }
}"""


class _Blank(BaseHTTPRequestHandler):
    """An empty page, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()

    def log_message(self, format: str, *_: Any) -> None:  # noqa: A002  # as its class has it
        pass


@contextmanager
def pages() -> Generator[int]:
    """Serve empty pages; yields the port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Blank) as site:
        threading.Thread(target=site.serve_forever, daemon=True).start()
        yield site.server_address[1]
        site.shutdown()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        yield browser.new_page()
        browser.close()


def called(page: Page, server: HttpServer, *, era: str, token: str = "") -> tuple[int, Any, str]:
    """Return status, challenge and body of a call that the page makes; status 0 if it cannot."""
    body, headers = rpc_request("tools/list", era=era)
    if token:
        headers["authorization"] = f"Bearer {token}"
    url = server.url.replace("127.0.0.1", "localhost")
    status, challenge, text = page.evaluate(CALL, [url, headers, body.decode()])
    return status, challenge, text


@pytest.mark.parametrize("era", [LEGACY, MODERN])
def test_a_page_of_an_allowed_origin_calls_and_others_cannot(
    tmp_path: Path, page: Page, era: str
) -> None:
    with pages() as port:
        origin = f"http://app.test:{port}"
        with HttpServer(tmp_path, http__allowed_origins=origin) as server:
            page.goto(origin)
            status, _, text = called(page, server, era=era)
            assert (status, "add_task" in text) == (200, True), text
            status, challenge, _ = called(page, server, era=era, token="rt_made_up")  # noqa: S106  # none
            assert (status, "invalid_token" in (challenge or "")) == (401, True)
            page.goto(f"http://evil.test:{port}")
            status, _, text = called(page, server, era=era)
            assert (status, "Failed to fetch" in text) == (0, True)
            server.stderr.until(r"request refused.* status=403 ")
