"""Every key of PostgreSQL's schema starts with the tenant, or says why not.

Databases that place rows by tenant enforce a key where all of its rows are: it has to hold the
tenant's column (docs/scaling.md).
"""

from __future__ import annotations

from typing import Final

from rolltop.core.db.row_security import TENANT_COLUMNS
from tests.databases import connect_as_system

# Every unique index, with the name of its first column.
UNIQUE: Final = """
SELECT keys.relname, rows.relname, first.attname FROM pg_index AS unique_index
JOIN pg_class AS keys ON keys.oid = unique_index.indexrelid
JOIN pg_class AS rows ON rows.oid = unique_index.indrelid
JOIN pg_attribute AS first ON first.attrelid = rows.oid AND first.attnum = unique_index.indkey[0]
WHERE unique_index.indisunique AND rows.relnamespace = 'public'::regnamespace
"""
# Every foreign key, with the first column on both sides.
FOREIGN: Final = """
SELECT keys.conname, rows.relname, first.attname, target.relname, referred.attname
FROM pg_constraint AS keys
JOIN pg_class AS rows ON rows.oid = keys.conrelid
JOIN pg_class AS target ON target.oid = keys.confrelid
JOIN pg_attribute AS first ON first.attrelid = rows.oid AND first.attnum = keys.conkey[1]
JOIN pg_attribute AS referred
    ON referred.attrelid = target.oid AND referred.attnum = keys.confkey[1]
WHERE keys.contype = 'f' AND rows.relnamespace = 'public'::regnamespace
"""
LOGIN: Final = "looked up before it is known whose it is; small, and kept whole on every node"
SHARED: Final = "no tenant's"
NUMBER: Final = "a number of the search index, which SQLite's has for its rows; unique in all"
TASK: Final = "a random id, unique in all; uq_tasks_user_id_id has the tenant"
EXCEPTIONS: Final = {
    "uq_users_email": LOGIN,
    "pk_access_tokens": LOGIN,
    "uq_access_tokens_token_hash": LOGIN,
    "pk_identities": LOGIN,
    "pk_page_sessions": LOGIN,
    "fk_page_sessions_token_id": LOGIN,
    "fk_workspace_members_member_id": LOGIN,
    "pk_audit_events": SHARED,
    "pk_reader_outlines": SHARED,
    "journal_pending_pkey": SHARED,
    "rolltop_versions_pkc": SHARED,
    "pk_tasks": TASK,
    "fk_tasks_parent_id": TASK,
    "pk_notes": NUMBER,
    "pk_note_texts": NUMBER,
    "fk_note_texts_number": NUMBER,
    "pk_note_tags": NUMBER,
    "fk_note_tags_number": NUMBER,
    "pk_search_items": NUMBER,
    "pk_search_filters": NUMBER,
    "fk_search_filters_item_id": NUMBER,
    "pk_search_parts": NUMBER,
    "fk_search_parts_item_id": NUMBER,
    "pk_search_texts": NUMBER,
    "fk_search_texts_id": NUMBER,
    "pk_search_vectors": NUMBER,
    "fk_search_vectors_part_id": NUMBER,
    "pk_search_wholes": NUMBER,
    "pk_search_whole_parts": NUMBER,
    "fk_search_whole_parts_whole_id": NUMBER,
}


def names_tenant(table: str, column: str) -> bool:
    """Whether the column says whose a row is; of users the id does."""
    return column in TENANT_COLUMNS or (table, column) == ("users", "id")


def test_every_key_starts_with_the_tenant_or_says_why_not(migrated_url: str) -> None:
    with connect_as_system(migrated_url) as connection:
        unique = connection.execute(UNIQUE).fetchall()
        foreign = connection.execute(FOREIGN).fetchall()
    with_tenant = [name for name, table, first in unique if names_tenant(table, first)]
    with_tenant += [
        name
        for name, table, first, target, referred in foreign
        if names_tenant(table, first) and names_tenant(target, referred)
    ]
    every = [row[0] for row in unique + foreign]
    assert len(with_tenant) > 40
    assert sorted(set(every) - set(with_tenant)) == sorted(EXCEPTIONS)
