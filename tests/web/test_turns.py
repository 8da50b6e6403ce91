"""Pages take turns at the threads as calls of tools do, and refusals come as late as theirs."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import accounts, page_sessions
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.principal import Principal
from rolltop.server.routes import HttpApp
from rolltop.web.visit import PageFailure
from tests.server.processes import PATIENCE
from tests.web.visitor import HOST, Site, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PAGES = "rolltop.web.pages"
SLOW = [
    ("/notes/{note}/versions?old=1&new=2", "notes.compare_texts"),
    ("/tasks", "tasks._read_board"),
    ("/tasks/{task}", "tasks._read_names"),
    ("/trash", "trash.overview.list_trash"),
    ("/journal/1", "journal._read_change"),
    ("/events", "events.history.last_sequence"),
]
"""Pages, each with what it does on a thread."""


@pytest.fixture
def small_site(tmp_path: Path) -> Iterator[Site]:
    """Return a server of which a caller alone may hold one thread of two."""
    made = Site(tmp_path, threads=2, http__rate_limit=30, http__wrong_token_limit=1)
    yield made
    made.close()


def log_in(site: Site) -> Visitor:
    """Return somebody who came with a token of their own."""
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    plain, _ = site.app.database.write_sync(SYSTEM, accounts.create_token, user.id, "laptop")
    visitor = Visitor(site)
    assert visitor.submit(visitor.get("/login").form("/login"), token=plain).status == 200
    return visitor


async def get_status(site: Site, path: str, headers: dict[str, str]) -> int:
    """Return the status that a request is answered with."""
    statuses: list[int] = []

    async def send(message: Any) -> None:
        statuses.extend([message["status"]] if "status" in message else [])

    await site.serve("GET", path, headers, send)
    return statuses[0]


@pytest.mark.parametrize(("path", "slow"), SLOW)
def test_whose_pages_hold_threads_leaves_one_for_others(
    small_site: Site, monkeypatch: pytest.MonkeyPatch, path: str, slow: str
) -> None:
    agent, ann, bob = small_site.agent(), log_in(small_site), log_in(small_site)
    note = agent("note_save", text="one")["id"]
    agent("note_save", id=note, local_version=1, text="two")
    path = path.format(note=note, task=agent("add_task", title="a task")["data"]["task_id"])
    begun, released = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        released.wait()
        raise PageFailure(400, "enough")

    monkeypatch.setattr(f"{PAGES}.{slow}", hang)

    async def run() -> list[int]:
        headers = ann.own_headers()
        held = [asyncio.create_task(get_status(small_site, path, headers)) for _ in range(9)]
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        try:
            async with asyncio.timeout(PATIENCE):
                theirs = f"/notes/{note}", bob.own_headers()
                return [await get_status(small_site, *theirs) for _ in range(3)]
        finally:
            released.set()
            assert await asyncio.gather(*held) == [400] * 9

    assert small_site.runner.run(run()) == [200] * 3


def test_invented_cookies_hold_only_some_of_the_threads(
    small_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = small_site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    principal = Principal.for_user(user.id)
    begun, released = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        begun.set()
        released.wait()

    monkeypatch.setattr(page_sessions, "find_session", hang)

    async def run() -> bool:
        headers = {"Host": HOST, "Cookie": "rolltop_page_8765=invented"}
        held = [asyncio.create_task(get_status(small_site, "/", headers)) for _ in range(9)]
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await dispatch(small_site.app, "list_tasks", principal, {})
        finally:
            released.set()
            assert await asyncio.gather(*held) == [401] * 9
        return answer.is_error

    assert not small_site.runner.run(run())


def test_refusals_for_a_limit_are_held_back(
    small_site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    held_back: list[HttpApp] = []

    async def hold_back(routes: HttpApp) -> None:
        held_back.append(routes)

    monkeypatch.setattr(HttpApp, "_hold_back", hold_back)
    ann, stranger = log_in(small_site), Visitor(small_site)
    while ann.get("/notes").status == 200:
        assert held_back == []
    assert len(held_back) == 1
    form = stranger.get("/login").form("/login")
    assert stranger.submit(form, token="rt_1").status == 401  # noqa: S106  # none
    assert len(held_back) == 1
    assert stranger.submit(form, token="rt_2").status == 429  # noqa: S106  # none
    assert len(held_back) == 2


def test_of_large_forms_no_more_are_read_at_once_than_a_person_has_turns(small_site: Site) -> None:
    ann = log_in(small_site)

    async def run() -> None:
        chunk = {"type": "http.request", "body": b"x" * (1 << 16)}
        going_on, released = 0, asyncio.Event()

        async def send_form() -> None:
            parts = iter([{**chunk, "more_body": True}])

            async def receive() -> Any:
                nonlocal going_on
                if part := next(parts, None):
                    return part
                going_on += 1
                await released.wait()
                return {**chunk, "more_body": False}

            await small_site.serve("POST", "/notes/new", ann.own_headers(), ignore, b"", receive)

        async def ignore(_message: Any) -> None:
            pass

        forms = [asyncio.create_task(send_form()) for _ in range(4)]
        for _ in range(3):  # whose look-ups come after those of the forms
            assert await get_status(small_site, "/notes", ann.own_headers()) == 200
        assert going_on == 1
        released.set()
        await asyncio.wait_for(asyncio.gather(*forms), PATIENCE)
        assert going_on == 4

    small_site.runner.run(run())
