"""Who is calling: made from the connection, never from an argument."""

from __future__ import annotations

from dataclasses import dataclass

READ = "read"
WRITE = "write"
IMPERSONATE = "act_as"
"""May name another existing user: only callers of an unauthenticated server hold it."""


@dataclass(frozen=True)
class Principal:
    """The caller of one call. Tenant and user are one thing: both hold the user's id."""

    user_id: str
    tenant_id: str
    actor: str = ""
    permissions: frozenset[str] = frozenset({READ, WRITE})
    token_id: str = ""

    @classmethod
    def for_user(
        cls, user_id: str, *, actor: str = "", permissions: frozenset[str] | None = None
    ) -> Principal:
        """Return the principal of a user."""
        return cls(
            user_id,
            user_id,
            actor,
            frozenset({READ, WRITE}) if permissions is None else permissions,
        )
