"""What a present store must lose to be one that an older version left."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.db.url import DatabaseKind

_UNPROTECT = """
DO $$ DECLARE protected text; BEGIN
    FOR protected IN SELECT tablename FROM pg_policies WHERE policyname = 'tenant' LOOP
        EXECUTE 'DROP POLICY tenant ON ' || protected;
        EXECUTE 'ALTER TABLE ' || protected || ' DISABLE ROW LEVEL SECURITY';
        EXECUTE 'ALTER TABLE ' || protected || ' NO FORCE ROW LEVEL SECURITY';
    END LOOP;
END $$
"""


def back_to_core_0006(kind: DatabaseKind) -> Iterator[str]:
    """Yield the statements that take away what core's revisions after 0006 made."""
    if kind == "postgresql":
        yield _UNPROTECT
        for table in ("search_texts", "search_wholes", "search_whole_parts"):
            yield f"ALTER TABLE {table} NO INHERIT words_of_{table}"
            yield f"DROP TABLE words_of_{table}"
    yield "DROP TABLE job_leases"
    yield "DROP TABLE audit_events"
    yield "ALTER TABLE access_tokens DROP COLUMN project"
    yield "DROP TABLE idempotency_keys"
    yield "DROP TABLE identities"
    yield "ALTER TABLE access_tokens DROP COLUMN workspace_ids"
    yield "DROP TABLE workspace_members"
    yield "ALTER TABLE users DROP COLUMN is_workspace"
    yield "DROP TABLE page_sessions"
    for table in ("journal", "journal_contents", "journal_counters", "journal_undone"):
        yield f"DROP TABLE {table}"
    if kind == "postgresql":
        yield "DROP TABLE journal_pending"
        yield "DROP FUNCTION journal_rows CASCADE"
