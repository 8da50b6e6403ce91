"""PostgreSQL: the words of a part say whose it is, so that one tenant's are found by the index.

And what is new is written into the index at once: a list of what is not would be read by every
search.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "core_0004"
down_revision = "core_0003"
branch_labels = None
depends_on = None

_INDEX = "ix_search_texts_words"
_MARK = (
    "UPDATE search_texts SET words ="
    " array_to_tsvector(ARRAY['@' || replace(user_id::text, '-', '')]) || words"
)


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    if not connection.execute(sa.text("SELECT EXISTS (SELECT 1 FROM search_texts)")).scalar_one():
        op.execute(f"ALTER INDEX {_INDEX} SET (fastupdate = off)")
        return
    op.drop_index(_INDEX)
    op.execute(sa.text(_MARK.replace(":", "\\:")))
    op.create_index(
        _INDEX,
        "search_texts",
        ["words"],
        postgresql_using="gin",
        postgresql_with={"fastupdate": "off"},
    )
