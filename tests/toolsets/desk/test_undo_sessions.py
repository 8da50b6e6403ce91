"""Whose work an undo since a time takes back: of one session, or of a client in a project."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from rolltop.core.principal import EDITOR
from tests.desks import answer_of, call_tool, make_desk

if TYPE_CHECKING:
    from rolltop.core.context import AppContext
    from rolltop.core.db import Database
    from rolltop.core.principal import Principal


@pytest.fixture
def desk(database: Database) -> AppContext:
    return make_desk(database)


def error_of(desk: AppContext, who: Principal, **given: Any) -> dict[str, Any]:
    answer = call_tool(desk, who, "desk_undo", **given)
    assert answer.code == "NOT_FOUND", answer.text
    return answer.structured["error"]


@pytest.mark.parametrize("since", ["0", "1 hour ago"])
def test_a_client_that_was_started_again_is_told_of_its_sessions(
    desk: AppContext, me: Principal, since: str
) -> None:
    before = replace(me, actor="claude", session="ab12", project="port")
    task = answer_of(desk, before, "add_task", title="a")["data"]["uri"]
    answer_of(desk, replace(me, actor="gem", session="cd34"), "note_save", text="theirs")
    now = replace(before, session="ef56")
    error = error_of(desk, now, since=since)
    assert "by claude (ef56)" in error["message"]
    assert "claude (ab12), 2026-01-31T12:00Z, project port." in error["hint"]
    assert "gem" not in error["hint"]
    undone = answer_of(desk, now, "desk_undo", since=since, actor="claude (ab12)")
    assert [uri.partition("@")[0] for uri in undone["undone"]] == [task.partition("@")[0]]


def test_who_names_a_client_that_did_nothing_is_told_who_did(
    desk: AppContext, me: Principal
) -> None:
    answer_of(desk, replace(me, actor="gem", session="cd34"), "note_save", text="theirs")
    error = error_of(desk, me, since="0", actor="cd34")
    assert "by cd34 " in error["message"]
    assert "gem (cd34)" in error["hint"]
    assert "desk_history" in error_of(desk, me, since="99", actor="gem")["hint"]
    stranger = replace(me, member_id=str(UUID(int=1)), role=EDITOR)
    assert "owner of the workspace" in error_of(desk, stranger, since="0", actor="gem")["hint"]


@pytest.mark.parametrize("gem", ["gem", "Gem (via mcp-remote 0.1.29)"])
def test_a_client_s_name_means_its_work_in_the_project(
    desk: AppContext, me: Principal, gem: str
) -> None:
    here, there, nowhere = (
        replace(me, actor=gem, session=session, project=project)
        for session, project in (("00ab12", "port"), ("123456", "sea"), ("", ""))
    )
    sea = answer_of(desk, there, "note_save", text="sea")["uri"]
    loose = answer_of(desk, nowhere, "note_save", text="loose")["uri"]
    port = answer_of(desk, here, "note_save", text="port")["uri"]
    tried: dict[str, Any] = {"since": "0", "dry_run": True}
    again = replace(here, session="cdef00")
    named = answer_of(desk, again, "desk_undo", **tried, actor=gem)
    assert (named["undone"], named["project"]) == ([port, loose], "port")
    unbound = answer_of(desk, replace(here, session=""), "desk_undo", **tried, actor=gem)
    assert unbound["project"] == "port"
    for everywhere in ({"project": "*"}, {}):
        who = again if everywhere else replace(again, project="")
        answer = answer_of(desk, who, "desk_undo", **tried, actor=gem, **everywhere)
        assert (answer["undone"], answer.get("project")) == ([port, loose, sea], None)
    other = answer_of(desk, again, "desk_undo", **tried, actor=gem, project="sea")
    assert (other["undone"], other["project"]) == ([loose, sea], "sea")
    one = answer_of(desk, again, "desk_undo", **tried, actor=f"{gem} (123456)")
    assert (one["undone"], one.get("project")) == ([sea], None)
    error = error_of(desk, replace(again, project="lake"), since="2", actor=gem)
    assert "in project lake" in error["message"]
    assert f"{gem} (00ab12)" in error["hint"]


@pytest.mark.parametrize("name", ["bob@example.org", "BOB@example.org/Claude"])
def test_a_member_s_address_and_any_case_mean_their_work(
    desk: AppContext, me: Principal, name: str
) -> None:
    bob, bobby = (
        replace(me, member_id=str(UUID(int=one)), member=member, actor="claude", session="00ab12")
        for one, member in ((1, "bob@example.org"), (2, "bob@example.org.uk"))
    )
    theirs = answer_of(desk, bob, "note_save", text="theirs")["uri"]
    answer_of(desk, bobby, "note_save", text="another's")
    answer_of(desk, me, "note_save", text="mine")
    found = answer_of(desk, me, "desk_history", actor=name)["changes"]
    assert [one["uri"].partition("@")[0] for one in found] == [theirs]
    tried = answer_of(desk, me, "desk_undo", since="0", actor=name, dry_run=True)
    assert tried["undone"] == [theirs]


def test_who_may_not_take_back_what_another_did_is_not_led_to_the_own_work(
    desk: AppContext, me: Principal
) -> None:
    ann, bob = (
        replace(me, member_id=str(UUID(int=one)), member=f"{name}@example.org", actor="claude")
        for one, name in ((1, "ann"), (2, "bob"))
    )
    for who in (ann, bob):
        answer_of(desk, who, "note_save", text="a note")
    error = error_of(desk, replace(bob, role=EDITOR), since="0", actor="ann@example.org/claude")
    assert "owner of the workspace" in error["hint"]
    assert "bob" not in error["hint"]
    error = error_of(desk, replace(bob, role=EDITOR), since="0", actor="gem")
    assert "bob@example.org/claude" in error["hint"]
