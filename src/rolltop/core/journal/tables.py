"""The tables of the journal, and how a toolset's table says what of it is kept there.

`journal` has a row for each thing that an operation changed, numbered within its tenant without
a gap and in the order of commits. Long texts lie in `journal_contents`, once each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
)

from rolltop.core.db.schema import metadata, user_column
from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime
from rolltop.core.principal import MAX_LABEL_LENGTH, MAX_PROJECT_LENGTH

KEPT: Final = "rolltop.journal"
"""Where the metadata has the tables kept in the journal by name: each with what is kept."""


@dataclass(frozen=True)
class Journaled:
    """What the journal keeps of a table whose rows have a `user_id`.

    A row belongs to the thing `kind` whose id stands in the column `key`, or, where `through` names
    a table, in the column `id` of its row with the same `key`. Columns of bookkeeping (`derived`)
    are kept only with a row that comes or goes. `moving` ones (versions, times of change) and
    `computed` ones, which follow from others, are kept and make no change by themselves. A change
    of nothing but `order` belongs to the thing `owner`: a kind, and the column of its id. `version`
    is the column of the thing's version. What `joins` another kind is told with a thing of that, if
    the transaction changed one.

    A history names rows beside a thing's own by `member`: what they are, and the column that tells
    one from another, if one does. Columns with `words` are told by those for a value, `{}`, and for
    none. The tool `restore` brings a row of the thing itself back.
    """

    kind: str
    key: str
    through: Table | None = None
    derived: frozenset[str] = field(default_factory=frozenset[str])
    moving: frozenset[str] = field(default_factory=frozenset[str])
    computed: frozenset[str] = field(default_factory=frozenset[str])
    order: frozenset[str] = field(default_factory=frozenset[str])
    owner: tuple[str, str] | None = None
    version: str = ""
    joins: str = ""
    member: tuple[str, str] | None = None
    words: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    restore: str = "desk_undo"


def keep_journal(table: Table, journaled: Journaled) -> None:
    """Have every change of the table's rows kept in the journal."""
    table.metadata.info.setdefault(KEPT, {})[table.name] = (table, journaled)


def journaled_tables() -> dict[str, tuple[Table, Journaled]]:
    """Return the tables kept in the journal of the toolsets imported so far; others come later."""
    return dict(metadata.info.get(KEPT, {}))  # another thread may be importing one


journal: Final = Table(
    "journal",
    metadata,
    user_column(),
    Column("sequence", BigInteger, autoincrement=False),
    Column("operation", Identifier, nullable=False),
    Column("at", UTCDateTime, nullable=False),
    Column("actor_id", Identifier, nullable=False),
    Column("client", String(2 * MAX_LABEL_LENGTH), nullable=False),
    Column("project", String(MAX_PROJECT_LENGTH), nullable=False),
    Column("tool", String(MAX_LABEL_LENGTH), nullable=False),
    Column("kind", CodePointString(16), nullable=False),
    Column("ref", CodePointString(400), nullable=False),
    Column("version_before", Integer),
    Column("version_after", Integer),
    Column("changes", Text, nullable=False),
    PrimaryKeyConstraint("user_id", "sequence"),
    Index(None, "user_id", "operation"),
    Index(None, "user_id", "kind", "ref", "sequence"),
    sqlite_with_rowid=False,
)

journal_contents: Final = Table(
    "journal_contents",
    metadata,
    user_column(),
    Column("sha256", CodePointString(64)),
    Column("used_at", UTCDateTime, nullable=False),  # when an entry last named it
    Column("size", Integer, nullable=False),
    Column("data", LargeBinary, nullable=False),  # by zlib where it is not as long as `size`
    PrimaryKeyConstraint("user_id", "sha256"),
)

journal_counters: Final = Table(
    "journal_counters",
    metadata,
    user_column(),
    Column("sequence", BigInteger, nullable=False),
    Column("texts_since", UTCDateTime),
    PrimaryKeyConstraint("user_id"),
)
"""Each tenant's last number, and when the newest text was used that was deleted to save room."""

journal_undone: Final = Table(
    "journal_undone",
    metadata,
    user_column(),
    Column("operation", Identifier),
    Column("undone_by", Identifier),
    PrimaryKeyConstraint("user_id", "operation", "undone_by"),
)
"""Which operation took which back; what undid is an operation, and may be undone itself."""
