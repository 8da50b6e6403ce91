"""PostgreSQL: names without a policy, by which the words of the full-text indexes are matched.

Every other table of tenants' rows gets its policy after all revisions: `row_security`.
"""

from __future__ import annotations

from alembic import op

revision = "core_0014"
down_revision = "core_0013"
branch_labels = None
depends_on = None

_COLUMNS = {
    "search_texts": "id BIGINT NOT NULL, user_id UUID NOT NULL, words TSVECTOR NOT NULL",
    "search_wholes": "id BIGINT NOT NULL, user_id UUID NOT NULL, is_long BOOLEAN NOT NULL, "
    "words TSVECTOR NOT NULL",
    "search_whole_parts": "whole_id BIGINT NOT NULL, part INTEGER NOT NULL, user_id UUID NOT NULL, "
    "words TSVECTOR NOT NULL",
}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, columns in _COLUMNS.items():
        parent = f"words_of_{table}"
        op.execute(f"CREATE TABLE {parent} ({columns})")
        op.execute(f"ALTER TABLE {table} INHERIT {parent}")
        # Of other statements than SELECT nothing passes.
        op.execute(f"CREATE POLICY words ON {parent} FOR SELECT USING (true)")
        op.execute(f"ALTER TABLE {parent} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {parent} FORCE ROW LEVEL SECURITY")
