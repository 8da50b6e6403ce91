"""Who is calling: made from the connection, never from an argument."""

from __future__ import annotations

import os
import re
import uuid
from dataclasses import dataclass, replace
from typing import Final

READ = "read"
WRITE = "write"
IMPERSONATE = "act_as"
"""May name another existing user: only callers of an unauthenticated server hold it."""

VIEWER: Final = "viewer"
EDITOR: Final = "editor"
OWNER: Final = "owner"
ROLES: Final = (VIEWER, EDITOR, OWNER)
"""What a member may do in a workspace, the least first."""

MAX_PROJECT_LENGTH: Final = 100
MAX_LABEL_LENGTH: Final = 100
ALL_PROJECTS: Final = "*"
"""Stands for every project where one is asked for, and so names none."""

_SESSION_END: Final = re.compile(r" \([0-9a-f]{6}\)\Z", re.ASCII)


def is_project_name(text: str) -> bool:
    """Whether a trimmed text can be a project's name: 1 to 100 printable characters, not `*`."""
    return 1 <= len(text) <= MAX_PROJECT_LENGTH and text.isprintable() and text != ALL_PROJECTS


def names_session(label: str) -> bool:
    """Whether a label ends with a session; a client's own name may end in parentheses too."""
    return _SESSION_END.search(label) is not None


@dataclass(frozen=True)
class Principal:
    """The caller of one call.

    `user_id` and `tenant_id` are one thing: whose things the call is about, a user's or those of a
    shared workspace. There `member_id` and `member` are the id and the address of who calls; each
    is empty in a user's own workspace. A viewer may only read, and only an owner takes back what
    others did.

    `project` is the connection's and `session`, of 6 hexadecimal digits, tells it from the others
    of its client; each is empty for none. `tool` and `operation`, an id, are those of the running
    call.
    """

    user_id: str
    tenant_id: str
    actor: str = ""
    permissions: frozenset[str] = frozenset({READ, WRITE})
    token_id: str = ""
    project: str = ""
    session: str = ""
    tool: str = ""
    operation: str = ""
    member_id: str = ""
    member: str = ""
    expires_at: float = 0.0
    """When the caller's right to call ends, in Unix seconds; 0 if the store says that."""
    role: str = OWNER
    is_anonymous: bool = False
    """Whether the caller may call only until the store holds a token."""

    @classmethod
    def for_user(
        cls,
        user_id: str,
        *,
        actor: str = "",
        permissions: frozenset[str] | None = None,
        project: str = "",
        session: str = "",
    ) -> Principal:
        """Return the principal of a user."""
        return cls(
            user_id,
            user_id,
            actor,
            frozenset({READ, WRITE}) if permissions is None else permissions,
            project=project,
            session=session,
        )

    def in_workspace(self, workspace_id: str, member: str, role: str) -> Principal:
        """Return the principal in a workspace that the user shares, with what the role allows."""
        return replace(
            self,
            user_id=workspace_id,
            tenant_id=workspace_id,
            member_id=self.user_id,
            member=member,
            role=role,
            permissions=self.permissions & ({READ} if role == VIEWER else {READ, WRITE}),
        )

    @property
    def viewer_reason(self) -> str:
        """Why a viewer may not write, as it is told; empty for everybody else."""
        if self.role != VIEWER:
            return ""
        return f"{self.member} is a viewer of this workspace, who may only read"

    @property
    def can_end(self) -> bool:
        """Whether the right to call ends before the server does: it is not that of its one user."""
        return bool(self.token_id or self.expires_at or self.member_id)

    @property
    def actor_id(self) -> str:
        """The id of the user who calls."""
        return self.member_id or self.user_id

    @property
    def workspace_id(self) -> str:
        """The id of the shared workspace; empty in a user's own."""
        return self.user_id if self.member_id else ""

    def during(self, tool: str) -> Principal:
        """Return the principal of one call of a tool, which is an operation."""
        operation = uuid.UUID(bytes=os.urandom(16), version=4)
        return replace(self, tool=tool, operation=str(operation))

    @property
    def client(self) -> str:
        """The client's name as it is shown to others; empty for none.

        In a shared workspace it begins with the user's address.
        """
        name = f"{self.member}/{self.actor}" if self.member else self.actor
        return "".join(filter(str.isprintable, name))[:MAX_LABEL_LENGTH].strip()

    @property
    def label(self) -> str:
        """The client's name and session, as they are shown to others."""
        name = self.client or "unknown"
        return f"{name} ({self.session})" if self.session else name
