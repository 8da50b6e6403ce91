"""What Alembic runs around the revisions: on the connection and transaction it is given."""

from __future__ import annotations

from alembic import context

from rolltop.core.db.revisions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    version_table=VERSION_TABLE,
    render_as_batch=True,
)
context.run_migrations()
