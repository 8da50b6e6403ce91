"""The links between things on the desk: the SQL."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import (
    Column,
    ColumnElement,
    Index,
    PrimaryKeyConstraint,
    Table,
    Text,
    func,
    select,
)

from rolltop.core.db import Tx
from rolltop.core.db.engine import batches
from rolltop.core.db.schema import metadata, user_column
from rolltop.core.db.types import CodePointString, Identifier, UTCDateTime
from rolltop.core.db.upsert import insert
from rolltop.core.journal.snapshot import JournalSnapshot, Moment
from rolltop.core.journal.tables import Journaled, keep_journal
from rolltop.toolsets.desk.models import Link, Relation

MAX_LINKS: Final = 500
"""Links of one thing that are read."""
_ID_NAMESPACE: Final = uuid.UUID("6b1f8f0e-6a0c-4b0e-8f64-3c5d0c9a7e11")

links: Final = Table(
    "desk_links",
    metadata,
    user_column(),
    Column("id", Identifier),
    Column("relation", CodePointString(16), nullable=False),
    Column("source", Text, nullable=False),
    Column("source_key", CodePointString(64), nullable=False),  # the thing's: see `key_of`
    Column("target", Text, nullable=False),
    Column("target_key", CodePointString(64), nullable=False),
    Column("created_at", UTCDateTime, nullable=False),
    PrimaryKeyConstraint("user_id", "id"),
    Index(None, "user_id", "source_key"),
    Index(None, "user_id", "target_key"),
)
keep_journal(links, Journaled("link", "id"))
_l: Final = links.c


def key_of(thing: str) -> str:
    """Return the key of a thing by its address without version and lines, or of a web page."""
    return hashlib.sha256(thing.encode("utf-8", "surrogatepass")).hexdigest()


def add_link(tx: Tx, link: Link, created_at: datetime | None = None) -> None:
    """Keep a link, made now unless it is said; one that is there stays as it is."""
    named = f"{link.relation}\n{link.source}\n{link.target}"
    row = {
        "user_id": tx.scope.user_id,
        "id": str(uuid.uuid5(_ID_NAMESPACE, key_of(named))),
        "relation": link.relation,
        "source": link.source,
        "source_key": link.source_key,
        "target": link.target,
        "target_key": link.target_key,
        "created_at": created_at or tx.now,
    }
    tx.execute(insert(tx.kind, links).on_conflict_do_nothing(), row)


def remove_links(tx: Tx, link_ids: Sequence[str]) -> None:
    """Delete links."""
    tx.execute(links.delete().where(_l.user_id == tx.scope.user_id, _l.id.in_(link_ids)))


def all_links(tx: Tx) -> list[tuple[Link, datetime]]:
    """List the caller's links and when they were made, the oldest first."""
    mine = select(links).where(_l.user_id == tx.scope.user_id)
    rows = tx.execute(mine.order_by(_l.created_at, _l.id)).mappings()
    return [
        (Link(*(row[name] for name in Link.__dataclass_fields__)), row["created_at"])
        for row in rows
    ]


def links_at(
    tx: Tx, keys: Iterable[str], relation: Relation | None = None, *, targets_only: bool = False
) -> list[Link]:
    """List links from or to things, the oldest first; those `targets_only` that lead to them.

    Where there are very many, only the newest.
    """
    found: list[Link] = []
    for some in batches(sorted(set(keys))):
        ends: ColumnElement[bool] = _l.target_key.in_(some)
        ends = ends if targets_only else ends | _l.source_key.in_(some)
        mine = select(*(_l[name] for name in Link.__dataclass_fields__)).where(
            _l.user_id == tx.scope.user_id, ends
        )
        if relation is not None:
            mine = mine.where(_l.relation == relation)
        newest = mine.order_by(_l.created_at.desc(), _l.id.desc()).limit(MAX_LINKS)
        found += [Link(*row) for row in reversed(tx.execute(newest).all())]
    return found


def count_links(tx: Tx, key: str) -> int:
    """Count the links from or to a thing."""
    ends = (_l.target_key == key) | (_l.source_key == key)
    counted = select(func.count()).where(_l.user_id == tx.scope.user_id, ends)
    return tx.execute(counted).scalar_one()


def superseding_links(tx: Tx, keys: Iterable[str], moment: Moment) -> list[Link]:
    """List the links that said at a moment by what things are superseded, the oldest first."""
    then = JournalSnapshot(tx, moment, ("link",))
    rows = [row for row in then.rows(_l.target_key, keys) if row["relation"] == "supersedes"]
    rows.sort(key=lambda row: (row["created_at"], row["id"]))
    return [Link(*(row[name] for name in Link.__dataclass_fields__)) for row in rows]


def links_between(
    tx: Tx, source: tuple[str, bool], target: tuple[str, bool], relation: Relation
) -> list[tuple[str, str, str]]:
    """List id, source and target of the links of a relation from one thing to another.

    Each is given with whether it is only the beginning of the thing's address.
    """
    ends = ((source, _l.source, _l.source_key), (target, _l.target, _l.target_key))
    found = select(_l.id, _l.source, _l.target).where(
        _l.user_id == tx.scope.user_id,
        _l.relation == relation,
        *(
            uri.startswith(thing, autoescape=True) if is_start else key == key_of(thing)
            for (thing, is_start), uri, key in ends
        ),
    )
    rows = tx.execute(found.order_by(_l.created_at, _l.id))
    return [(row.id, row.source, row.target) for row in rows]
