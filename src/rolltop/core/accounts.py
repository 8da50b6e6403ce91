"""Users and their access tokens: all of the SQL, as functions over one transaction.

A token is `rt_` and 32 random bytes in URL-safe base64. The store keeps its plain SHA-256: with
256 random bits there is nothing to guess, so a slow, salted hash would protect nothing and cost
every request.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import uuid
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row, Table, column, delete, func, inspect, select, table, update

from rolltop.core import leases, workspaces
from rolltop.core.db import Tx
from rolltop.core.db.schema import (
    access_tokens,
    identities,
    page_sessions,
    users,
    workspace_members,
)
from rolltop.core.db.upsert import insert
from rolltop.core.errors import Conflict, InvalidArgument, InvalidConfig, NotFound
from rolltop.core.fulltext import document_index, indexer
from rolltop.core.journal.tables import journal
from rolltop.core.principal import (
    ALL_PROJECTS,
    MAX_PROJECT_LENGTH,
    OWNER,
    ROLES,
    Principal,
    is_project_name,
)
from rolltop.core.workspaces import Membership, canonical_uuid

DEFAULT_EMAIL: Final = "default@localhost"
MAX_EMAIL_LENGTH: Final = 254
MAX_TOKEN_NAME_LENGTH: Final = 200
MIN_TOUCH_INTERVAL: Final = timedelta(minutes=1)
_BOOKKEEPING: Final = (
    "idempotency_keys",
    "identities",
    "journal_contents",
    "journal_counters",
    "journal_undone",
    "page_sessions",
    "workspace_members",
)
TOKEN_PREFIX: Final = "rt_"  # noqa: S105  # how tokens begin, not one
_TOKEN_BYTES: Final = 32
_EMAIL_PATTERN: Final = re.compile(
    r"[^\s@\x00-\x1f\x7f\ud800-\udfff]+@[^\s@\x00-\x1f\x7f\ud800-\udfff]+"
)


@dataclass(frozen=True)
class User:
    """One user, who is also one tenant. The password hash stays in the store."""

    id: str
    email: str
    created_at: datetime
    last_login_at: datetime | None


@dataclass(frozen=True)
class AccessToken:
    """One access token, without its secret."""

    id: str
    user_id: str
    name: str
    read_only: bool
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    project: str | None = None
    """The project of the connections that bring it; None for the server's own."""
    workspace_ids: tuple[str, ...] | None = None
    """The workspaces it is for, of which its user may have left some; None for the user's own."""

    def needs_touch(self, now: datetime) -> bool:
        """Whether its last use is old enough to be written down again by `touch_token`."""
        return self.last_used_at is None or now - self.last_used_at >= MIN_TOUCH_INTERVAL


_USER: Final = (users.c.id, users.c.email, users.c.created_at, users.c.last_login_at)
_IS_PERSON: Final = ~users.c.is_workspace
TOKEN_COLUMNS: Final = tuple(access_tokens.c[one.name] for one in fields(AccessToken))


def ensure_default_user(tx: Tx) -> User:
    """Return the default user, made now if nobody has yet; racing processes get the same one."""
    found = find_user_by_email(tx, DEFAULT_EMAIL)
    if found is not None:
        return found
    with suppress(Conflict):
        return add_user(tx, DEFAULT_EMAIL)
    return User(*tx.execute(select(*_USER).where(users.c.email == DEFAULT_EMAIL)).one())


def lock_owner(tx: Tx) -> None:
    """Wait until no other transaction that asks for it as well works on the caller's things.

    PostgreSQL locks the owner's row, in the mode that lets other tables refer to it; SQLite has
    one writer anyway.
    """
    if tx.kind != "sqlite":
        mine = select(users.c.id).where(users.c.id == tx.scope.user_id)
        tx.execute(mine.with_for_update(key_share=True))


def find_user_by_email(tx: Tx, email: str) -> User | None:
    """Return the user with this address in any case, or None."""
    wanted = email.strip().lower()
    if not is_email(wanted):
        return None
    row = tx.execute(select(*_USER).where(users.c.email == wanted)).one_or_none()
    return None if row is None else User(*row)


def find_user_by_id(tx: Tx, user_id: str) -> User | None:
    """Return the user with this id, or None; a text that is no UUID is nobody's id."""
    wanted = canonical_uuid(user_id)
    if wanted is None:
        return None
    row = tx.execute(select(*_USER).where(users.c.id == wanted, _IS_PERSON)).one_or_none()
    return None if row is None else User(*row)


def find_local_user(tx: Tx, email: str, workspace: str) -> tuple[str, Membership | None] | None:
    """Return the user's id and the membership in a shared workspace, if one is named.

    None if there is no such user. Raises NotFound where the user has no such workspace.
    """
    user = find_user_by_email(tx, email)
    if user is None:
        return None
    if not workspace:
        return user.id, None
    membership = workspaces.find_membership(tx, user.id, workspace)
    return user.id, None if membership.workspace_id == user.id else membership


def require_local_user(tx: Tx, email: str, workspace: str) -> tuple[str, Membership | None]:
    """Find the user and the workspace that settings name, as `find_local_user` does.

    Raises InvalidConfig: the store does not know the user, or not as a member of the workspace.
    """
    wanted = email or DEFAULT_EMAIL
    try:
        found = find_local_user(tx, wanted, workspace)
    except NotFound as failure:
        raise InvalidConfig(f"workspace: {failure.message}", hint=failure.hint) from None
    if found is None:
        raise InvalidConfig(
            f"user: the store knows no user {wanted!r}",
            hint=f"`rolltop user add {wanted}` adds one.",
        )
    return found


def add_user(tx: Tx, email: str, user_id: str = "") -> User:
    """Return a new user, by default with an id of its own.

    Raises InvalidArgument for no address or id, Conflict for one that is taken.
    """
    address = email.strip().lower()
    if not is_email(address):
        raise InvalidArgument(
            f"{email!r} is not an e-mail address of at most {MAX_EMAIL_LENGTH} characters.",
            hint="Give an address such as ada@example.org.",
        )
    wanted = canonical_uuid(user_id) if user_id else str(uuid.uuid4())
    if wanted is None:
        raise InvalidArgument(
            f"{user_id[:MAX_EMAIL_LENGTH]!r} is not a UUID",
            hint="Give the id that the user has elsewhere, or none.",
        )
    if user_id and tx.execute(select(users.c.id).where(users.c.id == wanted)).first():
        raise Conflict(
            f"There is a user or a workspace with the id {wanted} already.",
            hint="`rolltop user list` shows all users.",
        )
    user = User(wanted, address, tx.now, None)
    made = tx.execute(
        insert(tx.kind, users)
        .values(id=user.id, email=user.email, created_at=user.created_at)
        .on_conflict_do_nothing(index_elements=[users.c.email])
        .returning(users.c.id)
    ).one_or_none()
    if made is None:
        raise Conflict(
            f"There is a user {address} already.", hint="`rolltop user list` shows all users."
        )
    return user


def list_users(tx: Tx) -> list[User]:
    """Return all users by address, in code point order."""
    people = select(*_USER).where(_IS_PERSON).order_by(users.c.email)
    return [User(*row) for row in tx.execute(people)]


def delete_user(tx: Tx, user_id: str) -> dict[str, int]:
    """Delete a user and all the user owns; return how many rows each table held of it.

    The counts name every table that refers to users, empty ones too; what hangs on those rows
    goes with them. Raises NotFound for an unknown user, Conflict for the only owner of a workspace.
    """
    user = find_user_by_id(tx, user_id)
    if user is None:
        raise NotFound("There is no such user.", hint="`rolltop user list` shows all users.")
    workspaces.require_no_sole_owner(tx, user.id)
    needed = has_any_token(tx)
    counts = delete_owner(tx, user.id)
    if needed and not has_any_token(tx):
        _keep_door_shut(tx)
    return counts


def _keep_door_shut(tx: Tx) -> None:
    """Leave a revoked token: with the last one's user the need for a token must not go."""
    _, token = create_token(tx, ensure_default_user(tx).id, "of deleted users")
    revoke_token(tx, token.user_id, token.id)


def adopt_default(tx: Tx, email: str) -> dict[str, int]:
    """Let the user with this address own what the default user does; return the rows of each table.

    The default user's row becomes the user's, with its id, since everything is kept under that: the
    user's own id is gone. The user's tokens, logins and memberships move there, and the higher role
    stays where both are members; by what let callers in as the default user nobody gets in as this
    one. Nothing is done, and nothing returned, where the default user owns nothing.

    Raises NotFound for an unknown user, Conflict for one who owns things already.
    """
    two = users.c.email.in_([DEFAULT_EMAIL, email.strip().lower()])
    tx.execute(select(users.c.id).where(two).order_by(users.c.id).with_for_update()).all()
    user, default = find_user_by_email(tx, email), find_user_by_email(tx, DEFAULT_EMAIL)
    if user is None:
        raise NotFound("There is no such user.", hint="`rolltop user add EMAIL` adds one.")
    owned = _count_things(tx, default.id) if default else {}
    if default is None or default == user or not any(owned.values()):
        return {}
    if any(_count_things(tx, user.id).values()):
        raise Conflict(
            f"{user.email} owns things already, so those of {default.email} stay its own.",
            hint=f"`rolltop export DIR` with --user {default.email} writes them as files, and"
            f" `rolltop import DIR` with --user {user.email} adds them.",
        )
    for of in (identities, page_sessions):
        tx.execute(delete(of).where(of.c.user_id == default.id))
    for token in list_tokens(tx, default.id):
        revoke_token(tx, default.id, token.id)
    _merge_memberships(tx, default.id, user.id)
    for of, name in (
        (access_tokens, "user_id"),
        (identities, "user_id"),
        (page_sessions, "user_id"),
        (journal, "actor_id"),
    ):
        tx.execute(update(of).where(of.c[name] == user.id).values({name: default.id}))
    for token in list_tokens(tx, default.id):
        if user.id in (token.workspace_ids or ()):
            spaces = [default.id if one == user.id else one for one in token.workspace_ids or ()]
            mine = access_tokens.c.id == token.id
            tx.execute(update(access_tokens).where(mine).values(workspace_ids=spaces))
    tx.execute(delete(users).where(users.c.id == user.id))
    named = {"email": user.email, "last_login_at": user.last_login_at}
    tx.execute(update(users).where(users.c.id == default.id).values(named))
    return owned


def _merge_memberships(tx: Tx, user_id: str, former_id: str) -> None:
    """Let a user into the workspaces of another; where both are members the higher role stays."""
    m = workspace_members.c
    both = m.member_id.in_([user_id, former_id])
    rows: Sequence[Any] = tx.execute(select(m.workspace_id, m.role).where(both)).all()
    roles: dict[str, str] = {}
    for space, role in sorted(rows):
        roles[space] = max(role, roles.get(space, role), key=ROLES.index)
    for space, role in roles.items():
        workspaces.set_member(tx, space, user_id, role)


def _count_things(tx: Tx, owner_id: str) -> dict[str, int]:
    """Count what is kept for a user, by table; who comes in by which token is no such thing."""
    counts = _count_rows(tx, owner_id)
    return {name: count for name, count in counts.items() if name != access_tokens.name}


def _count_rows(tx: Tx, owner_id: str) -> dict[str, int]:
    return {
        name: tx.execute(
            select(func.count())
            .select_from(table(name, column(owner)))
            .where(column(owner, users.c.id.type) == owner_id)
        ).scalar_one()
        for name, owner in _owned_tables(tx)
    }


def delete_owner(tx: Tx, owner_id: str) -> dict[str, int]:
    """Delete a user or a workspace with all that is kept for it; return the rows of each table."""
    counts = _count_rows(tx, owner_id)
    indexer.drop_all(tx, owner_id)  # SQLite's full-text indexes know no foreign keys
    document_index.remove_all(tx, owner_id)
    leases.delete_leases(tx, owner_id)
    tx.execute(delete(users).where(users.c.id == owner_id))
    return counts


def create_token(
    tx: Tx,
    user_id: str,
    name: str,
    expires_at: datetime | None = None,
    *,
    read_only: bool = False,
    project: str = "",
    workspace_names: Sequence[str] = (),
) -> tuple[str, AccessToken]:
    """Return a new token's plain text, which is kept nowhere, and its record.

    It is for the user's own workspace unless others are named; requests that name none of them are
    for the first.

    Raises InvalidArgument for a bad name, expiry or project, NotFound for an unknown user and for a
    workspace that the user does not have.
    """
    label = name.strip()
    if not 1 <= len(label) <= MAX_TOKEN_NAME_LENGTH or not label.isprintable():
        raise InvalidArgument(
            f"A token's name has 1 to {MAX_TOKEN_NAME_LENGTH} printable characters.",
            hint="Name it after the client that will use it.",
        )
    if expires_at is not None and expires_at <= tx.now:
        raise InvalidArgument("The token would have expired already.", hint="Give a later expiry.")
    named = project.strip() or None
    if named is not None and not is_project_name(named):
        raise InvalidArgument(
            f"A project's name has 1 to {MAX_PROJECT_LENGTH} printable characters and is not"
            f" {ALL_PROJECTS}.",
            hint="Leave the project out for the server's own.",
        )
    user = find_user_by_id(tx, user_id)
    if user is None:
        raise NotFound("There is no such user.", hint="`rolltop user add EMAIL` adds one.")
    found = [workspaces.find_membership(tx, user.id, name) for name in workspace_names]
    chosen = tuple(dict.fromkeys(one.workspace_id for one in found)) or None
    plain = TOKEN_PREFIX + secrets.token_urlsafe(_TOKEN_BYTES)
    token = AccessToken(
        str(uuid.uuid4()), user.id, label, read_only, tx.now, expires_at, None, None, named, chosen
    )
    row = {**asdict(token), "token_hash": hash_token(plain)}
    tx.execute(access_tokens.insert().values(row))
    return plain, token


@dataclass(frozen=True)
class Access:
    """What a token opens: a workspace, as the token's user has it."""

    token: AccessToken
    email: str
    membership: Membership


def find_access(tx: Tx, plain: str, workspace: str = "") -> Access | None:
    """Return what a token opens; None for one that is unknown, expired or revoked.

    One look-up by hash whatever was given, and it writes nothing: see `touch_token`. Raises
    NotFound if it is not for the workspace of that name, or its user has left that.
    """
    row = tx.execute(
        select(*_USER, *TOKEN_COLUMNS)
        .join_from(access_tokens, users)
        .where(access_tokens.c.token_hash == hash_token(plain), valid_token_clause(tx))
    ).one_or_none()
    if row is None:
        return None
    user, token = User(*row[: len(_USER)]), token_from_row(row[len(_USER) :])
    return choose_workspace(tx, user, token, workspace)


def choose_workspace(tx: Tx, user: User, token: AccessToken, name: str = "") -> Access:
    """Return what a valid token opens: the workspace of that name or id, by default its first.

    Raises NotFound if it is not for that one, or its user has left it: what is written must not
    land in the next one.
    """
    own = Membership(user.id, user.email, OWNER)
    mine = [own]
    if token.workspace_ids is not None:
        mine = workspaces.list_memberships(tx, user.id, token.workspace_ids)
    wanted = name.strip().lower()
    first = user.id if token.workspace_ids is None else token.workspace_ids[0]
    for membership in mine:
        if (wanted or first) in {membership.name, membership.workspace_id}:
            return Access(token, user.email, membership)
    raise NotFound(
        "This token is not for that workspace, or its user is no member",
        hint="`rolltop token create EMAIL --workspace NAME` makes one that is.",
    )


def list_valid_hashes(tx: Tx) -> set[str]:
    """Return the hashes of the tokens that are valid now."""
    statement = select(access_tokens.c.token_hash).where(valid_token_clause(tx))
    return set(tx.execute(statement).scalars())


def find_allowed(tx: Tx, wanted: Collection[Principal]) -> set[Principal]:
    """Return those of the callers who may still call: by their tokens, users and memberships."""
    tokens = {one.token_id for one in wanted if one.token_id}
    valid = set(_ids(tx, access_tokens.c.id.in_(tokens) & valid_token_clause(tx), access_tokens))
    people = set(_ids(tx, users.c.id.in_({one.actor_id for one in wanted}), users))
    m = workspace_members.c
    shared = select(m.member_id, m.workspace_id).where(m.member_id.in_(people))
    members: Sequence[Any] = tx.execute(shared).all()
    mine = {(row[0], row[1]) for row in members} | {(one, one) for one in people}
    needs_token = has_any_token(tx)
    return {
        one
        for one in wanted
        if (not one.token_id or one.token_id in valid)
        and (one.actor_id, one.user_id) in mine
        and not 0 < one.expires_at < tx.now.timestamp()
        and not (one.is_anonymous and needs_token)
    }


def _ids(tx: Tx, condition: Any, of: Table) -> Sequence[str]:  # noqa: ANN401  # an SQL expression
    return tx.execute(select(of.c.id).where(condition)).scalars().all()


def touch_token(tx: Tx, token_id: str) -> bool:
    """Note that the token was used now; return whether anything was written.

    At most once a minute, whoever calls: `AccessToken.needs_touch` spares most write
    transactions, the condition here settles races.
    """
    owner = tx.execute(
        update(access_tokens)
        .where(
            access_tokens.c.id == token_id,
            (access_tokens.c.last_used_at.is_(None))
            | (access_tokens.c.last_used_at <= tx.now - MIN_TOUCH_INTERVAL),
        )
        .values(last_used_at=tx.now)
        .returning(access_tokens.c.user_id)
    ).scalar_one_or_none()
    if owner is None:
        return False
    tx.execute(update(users).where(users.c.id == owner).values(last_login_at=tx.now))
    return True


def list_tokens(tx: Tx, user_id: str) -> list[AccessToken]:
    """Return a user's tokens, oldest first, revoked and expired ones too."""
    rows = tx.execute(
        select(*TOKEN_COLUMNS)
        .where(access_tokens.c.user_id == user_id)
        .order_by(access_tokens.c.created_at, access_tokens.c.id)
    )
    return [token_from_row(row) for row in rows]


def revoke_token(tx: Tx, user_id: str, token_id: str) -> AccessToken:
    """Return the user's token, revoked now or before. Raises NotFound for another's or none."""
    wanted = canonical_uuid(token_id)
    mine = (access_tokens.c.id == wanted, access_tokens.c.user_id == user_id)
    if wanted is not None:
        tx.execute(
            update(access_tokens)
            .where(*mine, access_tokens.c.revoked_at.is_(None))
            .values(revoked_at=tx.now)
        )
        row = tx.execute(select(*TOKEN_COLUMNS).where(*mine)).one_or_none()
        if row is not None:
            return token_from_row(row)
    raise NotFound(
        "This user has no such token.", hint="`rolltop token list EMAIL` shows a user's tokens."
    )


def has_valid_token(tx: Tx) -> bool:
    """Whether the store holds a token that is neither expired nor revoked."""
    statement = select(access_tokens.c.id).where(valid_token_clause(tx)).limit(1)
    return tx.execute(statement).first() is not None


def has_any_token(tx: Tx) -> bool:
    """Whether the store holds a token at all, expired and revoked ones too.

    Who made a token wants callers to bring one: its expiry must not open the door to everyone.
    """
    return tx.execute(select(access_tokens.c.id).limit(1)).first() is not None


def valid_token_clause(tx: Tx) -> Any:  # noqa: ANN401  # an SQL expression
    """Return the condition of a token that is neither revoked nor expired."""
    never, later = access_tokens.c.expires_at.is_(None), access_tokens.c.expires_at > tx.now
    return access_tokens.c.revoked_at.is_(None) & (never | later)


def _owned_tables(tx: Tx) -> list[tuple[str, str]]:
    """Return each table that refers to users, with the column that does, by name."""
    catalogue = inspect(tx.connection)
    return [
        (name, key["constrained_columns"][0])
        for name in sorted(catalogue.get_table_names())
        for key in catalogue.get_foreign_keys(name)
        if key["referred_table"] == users.name and name not in _BOOKKEEPING
    ]


def token_from_row(row: Row[Any] | tuple[Any, ...]) -> AccessToken:
    """Return the token whose fields are the columns of a row, in their order."""
    token = AccessToken(*row)
    ids = token.workspace_ids
    return token if ids is None else replace(token, workspace_ids=tuple(ids))


def hash_token(plain: str) -> str:
    """Return the hash by which the store knows a token, or another secret that it made."""
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def is_email(text: str) -> bool:
    """Whether a text can be a user's address."""
    return len(text) <= MAX_EMAIL_LENGTH and _EMAIL_PATTERN.fullmatch(text) is not None
