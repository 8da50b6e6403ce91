"""Who tasks are given to: members of the workspace, by their e-mail addresses.

A task goes on naming a member who left. To next_task it is as free as one that nobody was given.
"""

from __future__ import annotations

from typing import Any, Final

from rolltop.core import workspaces
from rolltop.core.accounts import find_user_by_id
from rolltop.core.arguments import value_preview
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.toolsets.tasks import input_checks, store

ME: Final = "me"
"""Stands for the caller where a member is asked for."""
ANYBODY: Final = "*"
_MAX_NAMED: Final = 10


def resolve_assignee(
    tx: Tx, owner: str, fields: dict[str, Any], current: str | None = None
) -> dict[str, Any]:
    """Return a task's fields with the address of the member whom `assignee` means.

    `current` has the task now, and may keep it as no member. Raises InvalidArgument.
    """
    wanted = fields.get("assignee")
    if not wanted or wanted == current:
        return fields
    return {**fields, "assignee": _find_member(tx, owner, wanted)}


def parse_filter(tx: Tx, owner: str, text: str | None) -> str | None:
    """Return the address by which tasks are chosen, a former member's too; None for all.

    Raises InvalidArgument where there is neither such a member nor such a task.
    """
    wanted = input_checks.assignee(text or "")
    if wanted is None or wanted == ANYBODY:
        return None
    if store.has_assignee(tx, owner, wanted):
        return wanted
    return _find_member(tx, owner, wanted)


def list_others(tx: Tx, owner: str) -> tuple[str, ...]:
    """Return the other members' addresses; a user has none."""
    member = tx.scope.member
    return tuple(one for one in list_members(tx, owner) if one != member) if member else ()


def list_members(tx: Tx, owner: str) -> list[str]:
    """List the addresses of a workspace's members; a user has none."""
    return [member.email for member in workspaces.list_members(tx, owner)]


def _find_member(tx: Tx, owner: str, wanted: str) -> str | None:
    """Return the address of a member; None if there is no such owner, which is refused elsewhere.

    Raises InvalidArgument.
    """
    own = _own_address(tx, owner)
    if wanted == ME or own is None:
        return own
    shared = list_members(tx, owner)
    members = shared or [own]
    meant = [one for one in members if wanted in {one, one.partition("@")[0]}]
    if len(meant) == 1:
        return meant[0]
    named = ", ".join((meant or members)[:_MAX_NAMED])
    command = "; `rolltop workspace members NAME` lists all" if shared else ""
    problem = "is several members" if meant else "is no member of this workspace"
    raise InvalidArgument(
        f"assignee {value_preview(wanted)} {problem}",
        code="NOT_A_MEMBER",
        hint=f"Send {ME}, or the address of one of: {named}{command}.",
    )


def _own_address(tx: Tx, owner: str) -> str | None:
    """Return the caller's address, or that of the user whose tasks the call names."""
    if tx.scope.member and owner == tx.scope.user_id:
        return tx.scope.member
    user = find_user_by_id(tx, owner)
    return user.email if user else None
