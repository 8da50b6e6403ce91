"""`rolltop open`: the page on this machine, and a link that lets in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import SOURCE
from tests.forks import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell


def ask(url: str, method: str = "GET", cookie: str = "") -> tuple[int, str, str]:
    """Return status, body and the cookie that is set."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=PATIENCE)
    try:
        headers = {"Cookie": cookie} if cookie else {}
        connection.request(method, f"{parts.path}?{parts.query}", headers=headers)
        response = connection.getresponse()
        set_cookie = response.getheader("set-cookie", "").partition(";")[0]
        return response.status, response.read().decode(), set_cookie
    finally:
        connection.close()


def test_the_page_is_served_by_itself_and_the_link_lets_in(shell: Shell) -> None:
    assert shell("call", "add_task", "title=Water the plants").code == 0
    (shell.data / "open.html").write_text("as a browser was led here before")
    with subprocess.Popen(
        [sys.executable, "-m", "rolltop", "open", "--no-browser"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "ROLLTOP_HTTP_TRACES_ENDPOINT": "ftp://x",  # of what is served to others
        },
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        origin = link.partition("/login")[0]
        assert origin.startswith("http://127.0.0.1:")
        status, body, cookie = ask(link)
        assert (status, "You are logged in" in body) == (200, True)
        assert "Water the plants" in ask(f"{origin}/", cookie=cookie)[1]
        assert ask(f"{origin}/mcp", "POST")[0] == 404
        second = shell("open", "--no-browser", "--at", origin)
        assert second.code == 0
        assert ask(second.out.strip())[0] == 200
        process.send_signal(signal.SIGTERM)
        rest, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, rest) == (0, "")
    assert not (shell.data / "open.html").exists()
    assert err == "The page is there until Ctrl-C.\n"


def test_a_browser_gets_the_link_and_neither_terminal_nor_processes_do(
    shell: Shell, tmp_path: Path
) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" > {tmp_path}/opened\n')
    browser.chmod(0o700)
    shell.set("BROWSER", f"{browser} %s")
    outcome = shell("open", "--at", "http://localhost:8765")
    assert (outcome.code, outcome.out) == (0, "")
    file = shell.data / "open.html"
    assert (tmp_path / "opened").read_text() == f"{file.as_uri()}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert "0;url=http://localhost:8765/login?link=" in file.read_text()


@pytest.mark.parametrize(
    "url", ["http://example.org", "https://127.0.0.1", "desk", "http://", "http://[::1"]
)
def test_a_link_is_made_for_servers_of_this_machine_only(shell: Shell, url: str) -> None:
    outcome = shell("open", "--no-browser", "--at", url)
    assert (outcome.code, outcome.out) == (2, "")
    assert "is no server on this machine" in outcome.err
