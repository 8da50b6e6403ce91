"""PostgreSQL: the words of a whole text say whose it is, as those of parts do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "core_0005"
down_revision = "core_0004"
branch_labels = None
depends_on = None

_MARK = "array_to_tsvector(ARRAY['@' || replace(user_id::text, '-', '')])"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "sqlite":
        return
    if not connection.execute(sa.text("SELECT EXISTS (SELECT 1 FROM search_wholes)")).scalar_one():
        return
    # The words of a long text are in its parts.
    for table, some in (("search_wholes", "NOT is_long"), ("search_whole_parts", "true")):
        index = f"ix_{table}_words"
        op.drop_index(index)
        marked = f"UPDATE {table} SET words = {_MARK} || words WHERE {some}"  # noqa: S608  # no value
        op.execute(sa.text(marked.replace(":", "\\:")))
        op.create_index(
            index, table, ["words"], postgresql_using="gin", postgresql_with={"fastupdate": "off"}
        )
