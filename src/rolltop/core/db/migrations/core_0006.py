"""Blank texts leave the index of parts: to a model of meaning they were near everything."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "core_0006"
down_revision = "core_0005"
branch_labels = None
depends_on = None

_WITHOUT_WORDS = (
    "SELECT id, text FROM search_texts WHERE id IN (SELECT id FROM search_parts WHERE length = 0)"
)
# Foreign keys are off while SQLite is migrated: nothing goes by itself.
_GONE = (
    "DELETE FROM search_vectors WHERE part_id = :part",
    "DELETE FROM search_texts WHERE id = :part",
    "DELETE FROM search_parts WHERE id = :part",
)
_UNINDEXED = "INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', :part, '')"


def upgrade() -> None:
    connection = op.get_bind()
    found: Any = connection.execute(sa.text(_WITHOUT_WORDS))
    blank = [{"part": number} for number, text in found if not text.strip()]
    if not blank:
        return
    is_sqlite = connection.dialect.name == "sqlite"
    for statement in (_UNINDEXED, *_GONE) if is_sqlite else _GONE:
        connection.execute(sa.text(statement), blank)
