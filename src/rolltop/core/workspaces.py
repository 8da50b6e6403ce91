"""Workspaces: what belongs to a user alone, or to several with their roles. All of the SQL.

Everything is kept under the id of a workspace. A user's own one has the user's id; a shared one is
a row of `users` too, with its name where a user's e-mail address is, so whatever is kept for users
is kept for it, apart from everybody else's.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, delete, func, select

from rolltop.core.db import Tx
from rolltop.core.db.schema import users, workspace_members
from rolltop.core.db.upsert import insert
from rolltop.core.errors import Conflict, InvalidArgument, NotFound
from rolltop.core.principal import OWNER, ROLES

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LIST_HINT: Final = "`rolltop workspace list` shows the workspaces."
_m: Final = workspace_members.c


@dataclass(frozen=True)
class Workspace:
    """One shared workspace."""

    id: str
    name: str
    created_at: datetime


@dataclass(frozen=True)
class WorkspaceMember:
    """One user of a shared workspace."""

    id: str
    email: str
    role: str


@dataclass(frozen=True)
class Membership:
    """A workspace as one user has it: its name (the user's address for the own one), the role."""

    workspace_id: str
    name: str
    role: str


def create_workspace(tx: Tx, name: str, owner_id: str) -> Workspace:
    """Return a new workspace with its first owner.

    Raises InvalidArgument for a name that cannot be one, Conflict for one that is taken.
    """
    wanted = name.strip().lower()
    if not _NAME.fullmatch(wanted) or canonical_uuid(wanted):
        raise InvalidArgument(
            f"{name[:80]!r} cannot name a workspace",
            hint="Use up to 64 letters of a to z, digits, dots, dashes and underscores; no id.",
        )
    made = Workspace(str(uuid.uuid4()), wanted, tx.now)
    kept = tx.execute(
        insert(tx.kind, users)
        .values(id=made.id, email=made.name, created_at=made.created_at, is_workspace=True)
        .on_conflict_do_nothing(index_elements=[users.c.email])
        .returning(users.c.id)
    ).one_or_none()
    if kept is None:
        raise Conflict(f"There is a workspace {wanted} already.", hint=_LIST_HINT)
    set_member(tx, made.id, owner_id, OWNER)
    return made


def find_workspace(tx: Tx, name: str) -> Workspace:
    """Return the shared workspace of this name. Raises NotFound."""
    row = tx.execute(
        select(users.c.id, users.c.email, users.c.created_at).where(
            users.c.email == name.strip().lower(), users.c.is_workspace
        )
    ).one_or_none()
    if row is None:
        raise NotFound(f"There is no workspace {name[:80]!r}.", hint=_LIST_HINT)
    return Workspace(*row)


def is_workspace(tx: Tx, owner_id: str) -> bool:
    """Whether this is the id of a shared workspace."""
    one = select(users.c.id).where(users.c.id == owner_id, users.c.is_workspace)
    return tx.execute(one).first() is not None


def list_workspaces(tx: Tx) -> list[tuple[Workspace, int]]:
    """Return all shared workspaces by name, with their numbers of members."""
    statement = (
        select(users.c.id, users.c.email, users.c.created_at, func.count(_m.member_id))
        .outerjoin(workspace_members, _m.workspace_id == users.c.id)
        .where(users.c.is_workspace)
        .group_by(users.c.id, users.c.email, users.c.created_at)
        .order_by(users.c.email)
    )
    rows: Sequence[Any] = tx.execute(statement).all()
    return [(Workspace(*row[:3]), row[3]) for row in rows]


def list_members(tx: Tx, workspace_id: str) -> list[WorkspaceMember]:
    """Return the workspace's members by address."""
    rows = tx.execute(
        select(users.c.id, users.c.email, _m.role)
        .join(workspace_members, _m.member_id == users.c.id)
        .where(_m.workspace_id == workspace_id)
        .order_by(users.c.email)
    )
    return [WorkspaceMember(*row) for row in rows]


def set_member(tx: Tx, workspace_id: str, member_id: str, role: str) -> None:
    """Let a user into a workspace, or change the role there.

    Raises InvalidArgument for no role, Conflict where the workspace would have no owner.
    """
    if role not in ROLES:
        raise InvalidArgument(f"{role[:80]!r} is no role", hint=f"One of {', '.join(ROLES)}.")
    _lock(tx, users.c.id == workspace_id)
    new = insert(tx.kind, workspace_members).values(
        workspace_id=workspace_id, member_id=member_id, role=role
    )
    tx.execute(
        new.on_conflict_do_update(
            index_elements=[_m.workspace_id, _m.member_id], set_={"role": role}
        )
    )
    _require_owner(tx, workspace_id)


def remove_member(tx: Tx, workspace_id: str, member_id: str) -> None:
    """Take a user out of a workspace; what the user did there stays.

    Raises NotFound for who is no member, Conflict for the last owner.
    """
    _lock(tx, users.c.id == workspace_id)
    one = (_m.workspace_id == workspace_id, _m.member_id == member_id)
    if not tx.execute(delete(workspace_members).where(*one)).rowcount:
        raise NotFound(
            "This user is no member.", hint="`rolltop workspace members NAME` lists them."
        )
    _require_owner(tx, workspace_id)


def find_membership(tx: Tx, user_id: str, name: str) -> Membership:
    """Return a user's membership in a workspace, by its name or id, the own one too.

    The own one's name is the user's address.

    Raises NotFound where there is no such workspace or the user is no member: the two are never
    told apart.
    """
    wanted = name.strip().lower()
    named = users.c.id == wanted if canonical_uuid(wanted) else users.c.email == wanted
    found = _memberships(tx, user_id, named)
    if not found:
        raise NotFound(
            f"The user has no workspace {name[:80]!r}.",
            hint="`rolltop workspace invite NAME EMAIL` lets a user in.",
        )
    return found[0]


def list_memberships(tx: Tx, user_id: str, workspace_ids: Sequence[str]) -> list[Membership]:
    """Return those of the workspaces that the user has, in their order."""
    found = {
        one.workspace_id: one for one in _memberships(tx, user_id, users.c.id.in_(workspace_ids))
    }
    return [found[one] for one in workspace_ids if one in found]


def require_no_sole_owner(tx: Tx, user_id: str) -> None:
    """Make sure that every workspace has another owner than this user. Raises Conflict."""
    _lock(tx, users.c.id.in_(select(_m.workspace_id).where(_m.member_id == user_id)))
    others = workspace_members.alias()
    sole = (
        select(users.c.email)
        .join(workspace_members, _m.workspace_id == users.c.id)
        .where(
            _m.member_id == user_id,
            _m.role == OWNER,
            ~select(others.c.member_id)
            .where(
                others.c.workspace_id == users.c.id,
                others.c.member_id != user_id,
                others.c.role == OWNER,
            )
            .exists(),
        )
        .order_by(users.c.email)
    )
    names = list(tx.execute(sole).scalars())
    if names:
        raise Conflict(
            f"This user is the only owner of {', '.join(names)}.",
            hint="Make somebody else an owner (`rolltop workspace invite NAME EMAIL --role owner`),"
            " or delete the workspace.",
        )


def _lock(tx: Tx, condition: ColumnElement[bool]) -> None:
    """Keep others from changing the members of these workspaces until the transaction ends.

    SQLite has one writer at a time anyway.
    """
    if tx.kind == "postgresql":
        tx.execute(select(users.c.id).where(condition).order_by(users.c.id).with_for_update()).all()


def _memberships(tx: Tx, user_id: str, condition: ColumnElement[bool]) -> list[Membership]:
    statement = (
        select(users.c.id, users.c.email, _m.role)
        .outerjoin(workspace_members, (_m.workspace_id == users.c.id) & (_m.member_id == user_id))
        .where(condition, _m.role.is_not(None) | (users.c.id == user_id))
    )
    rows: Sequence[Any] = tx.execute(statement).all()
    return [Membership(row[0], row[1], row[2] or OWNER) for row in rows]


def _require_owner(tx: Tx, workspace_id: str) -> None:
    one = select(_m.member_id).where(_m.workspace_id == workspace_id, _m.role == OWNER).limit(1)
    if tx.execute(one).first() is None:
        raise Conflict(
            "A workspace needs an owner.",
            hint="Make somebody else an owner first, or delete the workspace.",
        )


def canonical_uuid(text: str) -> str | None:
    """Return a UUID's canonical text in lower case; None for any other text."""
    try:
        found = str(uuid.UUID(text))
    except ValueError:
        return None
    return found if found == text.lower() else None
