"""The trash, the settings, the health of the server, and pages that follow the journal."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import accounts
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.errors import RateLimited, Unavailable
from rolltop.core.principal import Principal
from rolltop.web.visit import MAX_USER_STREAMS
from tests.server.processes import PATIENCE
from tests.web.visitor import Site, Visitor

if TYPE_CHECKING:
    from pathlib import Path


def test_what_was_deleted_is_listed_and_comes_back(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    task = agent("add_task", title="a lost task")["data"]["task_id"]
    agent("delete_task", task_id=task)
    note = agent("note_save", text="a lost note")["id"]
    agent("note_manage", action="trash", id=note, local_version=1)
    pad = agent("scratch_create", metadata={"title": "a lost pad"})["scratchpad"]["scratch_id"]
    agent("scratch_delete", scratch_id=pad)
    page = ann.get("/trash")
    for path in (f"/tasks/{task}", f"/notes/{note}/manage", f"/pads/{pad}/manage"):
        (form,) = [form for form in page.forms if form.action == path]
        action = "untrash" if "notes" in path else "restore"
        assert ann.submit(form, action=action).status == 200
    assert "lost" not in ann.get("/trash").text
    assert agent("list_tasks")["data"]
    assert agent("note_list")["total_items"] == 1
    assert agent("scratch_list")["scratchpads"]


def test_all_that_was_deleted_is_shown_page_by_page(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    tasks = [{"title": f"task {number}"} for number in range(101)]
    for start in (0, 50, 100):
        for task in agent("add_task", tasks=tasks[start : start + 50])["data"]:
            agent("delete_task", task_id=task["task_id"])
    for number in range(101):
        pad = agent("scratch_create", metadata={"title": f"pad {number}"})["scratchpad"]
        agent("scratch_delete", scratch_id=pad["scratch_id"])
    first = ann.get("/trash")
    pages = [first, *(ann.get(path) for path in first.links() if path.startswith("/trash?"))]
    shown = {label for page in pages for label in re.findall(r"(?:task|pad) \d+", page.text)}
    assert shown == {f"{kind} {number}" for kind in ("task", "pad") for number in range(101)}


def test_a_pad_in_the_trash_is_shown(site: Site, ann: Visitor) -> None:
    agent = site.agent()
    pad = agent("scratch_create", metadata={"title": "a lost pad"})["scratchpad"]["scratch_id"]
    agent("scratch_delete", scratch_id=pad)
    page = ann.get(f"/pads/{pad}")
    assert page.status == 200
    assert "a lost pad" in page.text
    assert "deleted" in page.text
    assert ann.get("/pads/00000000-0000-4000-8000-000000000000").status == 404


def test_who_runs_the_server_sees_its_settings_without_secrets(tmp_path: Path) -> None:
    site = Site(tmp_path, http__bearer_token="the-secret-one")  # noqa: S106  # none
    ann = Visitor(site)
    ann.submit(ann.get("/").form("/login"), token="the-secret-one")  # noqa: S106  # as above
    page = ann.get("/settings")
    assert "http.max_body" in page.text
    assert str(tmp_path) in page.text
    assert "the-secret-one" not in page.body
    assert "All is in order" in ann.get("/doctor").text
    site.close()


def test_whom_a_token_of_the_store_lets_in_sees_no_settings(site: Site) -> None:
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    plain, _ = site.app.database.write_sync(SYSTEM, accounts.create_token, user.id, "laptop")
    ann = Visitor(site)
    page = ann.submit(ann.get("/").form("/login"), token=plain)
    assert page.status == 200
    assert "/doctor" not in page.links()
    for path in ("/settings", "/doctor"):
        assert (ann.get(path).status, str(site.app.settings["data_dir"]) in ann.get(path).text) == (
            403,
            False,
        )


def open_stream(site: Site, visitor: Visitor) -> tuple[asyncio.Task[None], asyncio.Queue[str]]:
    """Follow the journal as a page does; returns the request and what it is told."""
    told: asyncio.Queue[str] = asyncio.Queue()

    async def send(message: Any) -> None:
        told.put_nowait(message.get("body", b"").decode() or str(message.get("status", "")))

    serving = site.serve("GET", "/events", visitor.own_headers(), send)
    return asyncio.create_task(serving), told


def test_changes_are_told_as_they_come_and_the_server_can_stop(site: Site, ann: Visitor) -> None:
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    principal = Principal.for_user(user.id, actor="claude")

    async def follow() -> list[str]:
        stream, told = open_stream(site, ann)
        heard = [await asyncio.wait_for(told.get(), PATIENCE) for _ in range(2)]
        await dispatch(site.app, "add_task", principal, {"title": "new"})
        heard.append(await asyncio.wait_for(told.get(), PATIENCE))
        site.routes.close_streams()
        await asyncio.wait_for(stream, PATIENCE)
        return heard

    assert site.runner.run(follow()) == ["200", "retry: 2000\n\n", "id: 1\ndata: 1\n\n"]
    assert Visitor(site).get("/events").status == 401


def test_who_asks_for_the_headers_of_the_stream_alone_is_not_kept(site: Site, ann: Visitor) -> None:
    async def send(message: Any) -> None:
        assert not message.get("more_body")

    serving = site.serve("HEAD", "/events", ann.own_headers(), send)
    site.runner.run(asyncio.wait_for(serving, PATIENCE))


def test_of_streams_that_are_opened_at_once_a_user_has_no_more_than_the_limit(
    site: Site, ann: Visitor
) -> None:
    async def open_all() -> list[str]:
        opened = [open_stream(site, ann) for _ in range(MAX_USER_STREAMS + 5)]
        statuses = [await asyncio.wait_for(told.get(), PATIENCE) for _, told in opened]
        for stream, _ in opened:
            stream.cancel()
        await asyncio.gather(*(stream for stream, _ in opened), return_exceptions=True)
        return statuses

    async def leave(_message: Any) -> None:
        raise OSError

    for _ in range(MAX_USER_STREAMS):  # those that could not begin count no longer either
        leaving = site.serve("GET", "/events", ann.own_headers(), leave)
        with suppress(OSError):
            site.runner.run(leaving)
    for _ in range(2):
        assert Counter(site.runner.run(open_all())) == {"200": MAX_USER_STREAMS, "503": 5}


@pytest.mark.parametrize("how", ["revoked", "out of reach", "limited"])
def test_whose_token_is_worth_nothing_any_more_is_told_no_change(
    site: Site, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    user = site.app.database.write_sync(SYSTEM, accounts.ensure_default_user)
    plain, token = site.app.database.write_sync(SYSTEM, accounts.create_token, user.id, "laptop")
    ann = Visitor(site)
    ann.submit(ann.get("/").form("/login"), token=plain)
    failure = {
        "out of reach": Unavailable("The store is closed.", hint=""),
        "limited": RateLimited("Too many requests", retry_after=1),
    }

    async def fail(*_: str) -> None:
        raise failure[how]

    async def follow() -> list[str]:
        stream, told = open_stream(site, ann)
        heard = [await asyncio.wait_for(told.get(), PATIENCE) for _ in range(2)]
        if how == "revoked":
            await site.app.database.write(SYSTEM, accounts.revoke_token, user.id, token.id)
        else:
            monkeypatch.setattr(site.login, "find_principal", fail)
        await dispatch(site.app, "add_task", Principal.for_user(user.id), {"title": "new"})
        await asyncio.wait_for(stream, PATIENCE)
        return [*heard, *(told.get_nowait() for _ in range(told.qsize()))]

    assert site.runner.run(follow()) == ["200", "retry: 2000\n\n", ""]
