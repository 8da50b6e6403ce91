"""Who is calling: made from the connection, never from an argument."""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, replace
from typing import Final

READ = "read"
WRITE = "write"
IMPERSONATE = "act_as"
"""May name another existing user: only callers of an unauthenticated server hold it."""

MAX_PROJECT_LENGTH: Final = 100
MAX_LABEL_LENGTH: Final = 100
ALL_PROJECTS: Final = "*"
"""Stands for every project where one is asked for, and so names none."""


def is_project_name(text: str) -> bool:
    """Whether a trimmed text can be a project's name: 1 to 100 printable characters, not `*`."""
    return 1 <= len(text) <= MAX_PROJECT_LENGTH and text.isprintable() and text != ALL_PROJECTS


@dataclass(frozen=True)
class Principal:
    """The caller of one call. Tenant and user are one thing: both hold the user's id.

    `project` is the connection's and `session` tells it from the others of its client; each is
    empty for none. `tool` and `operation`, an id, are those of the running call.
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

    def during(self, tool: str) -> Principal:
        """Return the principal of one call of a tool, which is an operation."""
        operation = uuid.UUID(bytes=os.urandom(16), version=4)
        return replace(self, tool=tool, operation=str(operation))

    @property
    def client(self) -> str:
        """The client's name as it is shown to others; empty for none."""
        return "".join(filter(str.isprintable, self.actor))[:MAX_LABEL_LENGTH].strip()

    @property
    def label(self) -> str:
        """The client's name and session, as they are shown to others."""
        name = self.client or "unknown"
        return f"{name} ({self.session})" if self.session else name
