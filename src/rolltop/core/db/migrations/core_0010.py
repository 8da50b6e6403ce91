"""Since when the journal's texts are all kept."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from rolltop.core.db.types import UTCDateTime

revision = "core_0010"
down_revision = "core_0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("journal_counters", sa.Column("texts_since", UTCDateTime))
