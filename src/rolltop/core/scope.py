"""Who is calling: made from the connection, never from an argument."""

from __future__ import annotations

from dataclasses import dataclass

READ = "read"
WRITE = "write"
ACT_AS = "act_as"
"""May name another existing user: only callers of an unauthenticated server hold it."""


@dataclass(frozen=True)
class Scope:
    """The caller of one call. Tenant and user are one thing: both hold the user's id."""

    user_id: str
    tenant_id: str
    actor: str = ""
    rights: frozenset[str] = frozenset({READ, WRITE})

    @classmethod
    def of(cls, user_id: str, *, actor: str = "", rights: frozenset[str] | None = None) -> Scope:
        """Return the scope of a user."""
        return cls(user_id, user_id, actor, frozenset({READ, WRITE}) if rights is None else rights)
