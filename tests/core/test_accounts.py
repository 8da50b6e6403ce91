"""Users and access tokens, on both databases."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from rolltop.core import accounts, identities, page_sessions, workspaces
from rolltop.core.db import SYSTEM, Database, Tx
from rolltop.core.db.schema import access_tokens
from rolltop.core.errors import Conflict, InvalidArgument, NotFound
from rolltop.core.journal.tables import journal
from rolltop.core.principal import Principal
from tests.desks import answer_of, make_desk

if TYPE_CHECKING:
    from datetime import datetime

    from rolltop.core.accounts import Access, AccessToken
    from tests.databases import Clock, MakeDatabase

NOBODY = "00000000-0000-4000-8000-000000000000"


def new_token(
    database: Database,
    user_id: str,
    expires_at: datetime | None = None,
    *,
    read_only: bool = False,
) -> tuple[str, AccessToken]:
    return database.write_sync(
        SYSTEM, accounts.create_token, user_id, "laptop", expires_at, read_only=read_only
    )


def owner(database: Database, plain: str) -> Access | None:
    return database.read_sync(SYSTEM, accounts.find_access, plain)


def tokens(database: Database, user_id: str) -> list[AccessToken]:
    return database.read_sync(SYSTEM, accounts.list_tokens, user_id)


def test_the_default_user_is_made_once(database: Database, clock: Clock) -> None:
    made = database.write_sync(SYSTEM, accounts.ensure_default_user)
    clock.advance(days=1)
    assert database.write_sync(SYSTEM, accounts.ensure_default_user) == made
    assert made.email == "default@localhost"
    assert made.last_login_at is None
    assert database.read_sync(SYSTEM, accounts.list_users) == [made]


def test_racing_processes_make_one_default_user(
    database_url: str, make_database: MakeDatabase
) -> None:
    """Each object stands for a process: they share nothing but the store."""
    databases = [make_database(database_url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        futures = [
            pool.submit(database.write_sync, SYSTEM, accounts.ensure_default_user)
            for database in databases
        ]
    assert len({future.result() for future in futures}) == 1


def test_a_user_is_found_by_address_in_any_case_and_by_id_in_any_case(database: Database) -> None:
    user = database.write_sync(SYSTEM, accounts.add_user, "  Ada.Lovelace@Example.ORG ")
    assert user.email == "ada.lovelace@example.org"
    for email in (
        "ada.lovelace@example.org",
        "ADA.LOVELACE@EXAMPLE.ORG",
        " ada.lovelace@example.org",
    ):
        assert database.read_sync(SYSTEM, accounts.find_user_by_email, email) == user
    for user_id in (user.id, user.id.upper()):
        assert database.read_sync(SYSTEM, accounts.find_user_by_id, user_id) == user


@pytest.mark.parametrize("text", ["", "ada", "\0@x", "\ud800@x", "' OR 1=1 --", "x" * 5000])
def test_nobody_is_found_by_what_is_no_address_or_id(database: Database, text: str) -> None:
    database.write_sync(SYSTEM, accounts.ensure_default_user)
    assert database.read_sync(SYSTEM, accounts.find_user_by_email, text) is None
    assert database.read_sync(SYSTEM, accounts.find_user_by_id, text) is None
    assert database.read_sync(SYSTEM, accounts.find_user_by_id, NOBODY.replace("-", "")) is None


@pytest.mark.parametrize(
    "email",
    [
        "",
        "  ",
        "ada",
        "@",
        "ada@",
        "@x",
        "a b@x",
        "a@b@c",
        "a\n@x",
        "\0@x",
        "\ud800@x",
        "a" * 254 + "@x",
    ],
)
def test_what_is_no_address_is_refused(database: Database, email: str) -> None:
    with pytest.raises(InvalidArgument, match="not an e-mail address"):
        database.write_sync(SYSTEM, accounts.add_user, email)
    assert database.read_sync(SYSTEM, accounts.list_users) == []


def test_the_longest_address_is_kept_and_one_more_refused(database: Database) -> None:
    longest = "ä" * 252 + "@x"
    assert database.write_sync(SYSTEM, accounts.add_user, longest).email == longest
    with pytest.raises(InvalidArgument):
        database.write_sync(SYSTEM, accounts.add_user, "ä" + longest)


def test_a_taken_address_is_a_conflict(database: Database) -> None:
    database.write_sync(SYSTEM, accounts.add_user, "ada@x")
    with pytest.raises(Conflict, match="ada@x already"):
        database.write_sync(SYSTEM, accounts.add_user, "ADA@x")


def test_a_user_may_keep_the_id_of_another_place(database: Database) -> None:
    user = database.write_sync(SYSTEM, accounts.add_user, "ann@example.org", NOBODY.upper())
    assert user.id == NOBODY
    assert database.read_sync(SYSTEM, accounts.find_user_by_id, NOBODY) == user
    with pytest.raises(Conflict, match=NOBODY):
        database.write_sync(SYSTEM, accounts.add_user, "bob@example.org", NOBODY)
    with pytest.raises(InvalidArgument, match="not a UUID"):
        database.write_sync(SYSTEM, accounts.add_user, "bob@example.org", "7")
    assert database.read_sync(SYSTEM, accounts.find_user_by_email, "bob@example.org") is None


def test_users_are_listed_by_code_point(database: Database) -> None:
    emails = ["z@x", "ä@x", "a-b@x", "a@x", "a.b@x", "\U0001f600@x", "\uffee@x"]
    for email in emails:
        database.write_sync(SYSTEM, accounts.add_user, email)
    listed = database.read_sync(SYSTEM, accounts.list_users)
    assert [user.email for user in listed] == sorted(emails)


def test_a_token_leads_to_its_owner_and_only_its_hash_is_kept(
    database: Database, me: Principal, them: Principal
) -> None:
    plain, token = new_token(database, me.user_id, read_only=True)
    other, _other = new_token(database, them.user_id)
    assert plain.startswith("rt_")
    assert len(plain) == 46
    found = owner(database, plain)
    assert found is not None
    assert (found.token.user_id, found.token) == (me.user_id, token)
    assert token.read_only
    assert plain != other

    def kept(tx: Tx) -> list[str]:
        return [str(value) for row in tx.execute(select(access_tokens)) for value in row]

    values = database.read_sync(SYSTEM, kept)
    assert hashlib.sha256(plain.encode()).hexdigest() in values
    assert not any(plain in value for value in values)


@pytest.mark.parametrize("given", ["", "rt_", "rt_" + "A" * 43, "\0", "\ud800", "ü" * 10_000])
def test_what_is_no_token_has_no_owner(database: Database, me: Principal, given: str) -> None:
    new_token(database, me.user_id)
    assert owner(database, given) is None


def test_an_expired_token_has_no_owner(database: Database, me: Principal, clock: Clock) -> None:
    plain, _token = new_token(database, me.user_id, clock.now + timedelta(hours=1))
    clock.advance(minutes=59, seconds=59)
    assert owner(database, plain) is not None
    assert database.read_sync(SYSTEM, accounts.has_valid_token)
    clock.advance(seconds=1)
    assert owner(database, plain) is None
    assert not database.read_sync(SYSTEM, accounts.has_valid_token)


def test_a_revoked_token_has_no_owner_and_keeps_the_moment(
    database: Database, me: Principal, clock: Clock
) -> None:
    plain, token = new_token(database, me.user_id)
    moment = clock.advance(hours=1)
    revoked = database.write_sync(SYSTEM, accounts.revoke_token, me.user_id, token.id)
    assert revoked.revoked_at == moment
    clock.advance(hours=1)
    again = database.write_sync(SYSTEM, accounts.revoke_token, me.user_id, token.id.upper())
    assert again == revoked
    assert owner(database, plain) is None
    assert tokens(database, me.user_id) == [revoked]
    assert not database.read_sync(SYSTEM, accounts.has_valid_token)


def test_nobody_revokes_anothers_token(database: Database, me: Principal, them: Principal) -> None:
    plain, token = new_token(database, me.user_id)
    for user_id, token_id in ((them.user_id, token.id), (me.user_id, NOBODY), (me.user_id, "x")):
        with pytest.raises(NotFound):
            database.write_sync(SYSTEM, accounts.revoke_token, user_id, token_id)
    assert owner(database, plain) is not None
    assert tokens(database, them.user_id) == []


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\nb", "a\0b"])
def test_a_token_needs_a_printable_name(database: Database, me: Principal, name: str) -> None:
    with pytest.raises(InvalidArgument, match="printable"):
        database.write_sync(SYSTEM, accounts.create_token, me.user_id, name)


def test_a_token_needs_a_user_and_a_later_expiry(
    database: Database, me: Principal, clock: Clock
) -> None:
    with pytest.raises(NotFound):
        new_token(database, NOBODY)
    with pytest.raises(InvalidArgument, match="expired"):
        new_token(database, me.user_id, clock.now)
    assert tokens(database, me.user_id) == []


def test_a_use_is_noted_at_most_once_a_minute(
    database: Database, me: Principal, clock: Clock
) -> None:
    _plain, token = new_token(database, me.user_id)
    assert token.needs_touch(clock.now)
    first = clock.now
    assert database.write_sync(SYSTEM, accounts.touch_token, token.id)
    clock.advance(seconds=59)
    (used,) = tokens(database, me.user_id)
    assert not used.needs_touch(clock.now)
    assert not database.write_sync(SYSTEM, accounts.touch_token, token.id)
    user = database.read_sync(SYSTEM, accounts.find_user_by_id, me.user_id)
    assert user is not None
    assert user.last_login_at == used.last_used_at == first
    second = clock.advance(seconds=1)
    assert used.needs_touch(second)
    assert database.write_sync(SYSTEM, accounts.touch_token, token.id)
    assert tokens(database, me.user_id)[0].last_used_at == second
    assert not database.write_sync(SYSTEM, accounts.touch_token, NOBODY)


def test_what_the_default_user_owns_becomes_a_users_once(database: Database) -> None:
    def adopt(email: str) -> dict[str, int]:
        return database.write_sync(SYSTEM, accounts.adopt_default, email)

    def add_task(user_id: str) -> str:
        answer = answer_of(desk, Principal.for_user(user_id), "add_task", title="kept")
        return answer["data"]["task_id"]

    desk, email = make_desk(database), "ada@example.org"
    default = database.write_sync(SYSTEM, accounts.ensure_default_user)
    ada = database.write_sync(SYSTEM, accounts.add_user, email)
    space = database.write_sync(SYSTEM, workspaces.create_workspace, "harbour", ada.id).id
    for user in (default, ada):
        database.write_sync(SYSTEM, workspaces.set_member, space, user.id, "owner")
    spaces = [email, "harbour"]
    plain, token = database.write_sync(
        SYSTEM, accounts.create_token, ada.id, "laptop", workspace_names=spaces
    )
    add_task(space)
    assert adopt(email) == {}
    task = add_task(default.id)
    counts = adopt("ADA@example.org")
    assert (counts["tasks"], counts["journal"]) == (1, 1)
    found = owner(database, plain)
    assert found is not None
    kept, owned = found.token, found.token.user_id
    assert (found.email, kept.id, kept.workspace_ids) == (email, token.id, (owned, space))
    mine = answer_of(desk, Principal.for_user(owned), "list_tasks")["data"]
    assert [one["task_id"] for one in mine] == [task]
    members = database.read_sync(SYSTEM, workspaces.list_members, space)
    assert [(one.id, one.email, one.role) for one in members] == [(owned, email, "owner")]
    assert [one.email for one in database.read_sync(SYSTEM, accounts.list_users)] == [email]
    assert adopt(email) == {}
    again = database.write_sync(SYSTEM, accounts.ensure_default_user)
    assert adopt(email) == {}
    add_task(again.id)
    with pytest.raises(Conflict, match="owns things already"):
        adopt(email)
    with pytest.raises(NotFound):
        adopt("nobody@example.org")


def test_whoever_came_in_as_the_default_user_does_not_get_in_as_who_takes_over(
    database: Database,
) -> None:
    issuer, email = "https://issuer.example.org", "ann@example.org"
    default = database.write_sync(SYSTEM, accounts.ensure_default_user)
    ann = database.write_sync(SYSTEM, accounts.add_user, email)
    plain = {user.email: new_token(database, user.id) for user in (default, ann)}
    sessions: dict[str, str] = {}
    for user in (default, ann):
        link = partial(identities.link_user, create=False)
        database.write_sync(SYSTEM, link, issuer, user.email, user.email)
        token_id = plain[user.email][1].id
        opened = database.write_sync(SYSTEM, page_sessions.open_session, user.id, token_id)
        sessions[user.email] = opened
    unused = database.write_sync(SYSTEM, page_sessions.create_link, default.id)
    answer_of(make_desk(database), Principal.for_user(default.id), "add_task", title="kept")

    assert database.write_sync(SYSTEM, accounts.adopt_default, email)["tasks"] == 1

    def owners_of(address: str) -> list[str | None]:
        by_token = owner(database, plain[address][0])
        by_page = database.read_sync(SYSTEM, page_sessions.find_session, sessions[address])
        by_issuer = database.read_sync(SYSTEM, identities.find_user, issuer, address)
        return [
            by_token and by_token.token.user_id,
            by_page and by_page[0],
            by_issuer and by_issuer.id,
        ]

    assert owners_of(default.email) == [None, None, None]
    assert owners_of(email) == [default.id, default.id, default.id]
    assert database.write_sync(SYSTEM, page_sessions.use_link, unused) is None


def test_who_takes_over_keeps_the_higher_role_and_is_who_did_things(database: Database) -> None:
    email, desk = "ann@example.org", make_desk(database)
    default = database.write_sync(SYSTEM, accounts.ensure_default_user)
    ann, bob = (
        database.write_sync(SYSTEM, accounts.add_user, one) for one in (email, "bob@example.org")
    )
    given = {
        "low": ("viewer", "editor"),
        "high": ("owner", "viewer"),
        "his": ("viewer", ""),
        "hers": ("", "editor"),
    }
    spaces: dict[str, str] = {}
    for name, roles in given.items():
        space = database.write_sync(SYSTEM, workspaces.create_workspace, name, bob.id).id
        spaces[name] = space
        for user, role in zip((default, ann), roles, strict=True):
            if role:
                database.write_sync(SYSTEM, workspaces.set_member, space, user.id, role)
    shared = Principal.for_user(ann.id).in_workspace(spaces["low"], email, "editor")
    for principal in (shared, Principal.for_user(default.id)):
        answer_of(desk, principal, "add_task", title="kept")

    assert database.write_sync(SYSTEM, accounts.adopt_default, email)["tasks"] == 1

    kept = database.read_sync(
        SYSTEM, workspaces.list_memberships, default.id, list(spaces.values())
    )
    assert {one.name: one.role for one in kept} == {
        "low": "editor",
        "high": "owner",
        "his": "viewer",
        "hers": "editor",
    }
    members = database.read_sync(SYSTEM, workspaces.list_members, spaces["low"])
    assert {one.id for one in members} == {default.id, bob.id}

    def actors(tx: Tx) -> set[str]:
        return set(tx.execute(select(journal.c.actor_id)).scalars())

    assert database.read_sync(SYSTEM, actors) == {default.id}


def test_deleting_a_user_takes_all_the_user_owns_and_nothing_else(
    database: Database, me: Principal, them: Principal
) -> None:
    plain, _token = new_token(database, me.user_id)
    new_token(database, me.user_id)
    kept, _token = new_token(database, them.user_id)
    counts = database.write_sync(SYSTEM, accounts.delete_user, me.user_id)
    assert counts["access_tokens"] == 2
    assert database.read_sync(SYSTEM, accounts.find_user_by_id, me.user_id) is None
    assert owner(database, plain) is None
    assert owner(database, kept) is not None
    with pytest.raises(NotFound):
        database.write_sync(SYSTEM, accounts.delete_user, me.user_id)
