"""What is found by a name: namespaces of a tenant, schemas of a pad."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, delete, func, insert, literal, select, update

from rolltop.core.db import upsert
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.toolsets.scratch.models.records import SchemaEntry
from rolltop.toolsets.scratch.store.pads import COLUMNS, live, pad_of
from rolltop.toolsets.scratch.store.tables import namespaces, pads, schemas

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from rolltop.core.db import Tx
    from rolltop.toolsets.scratch.models.records import Pad

_SCHEMAS: Final = select(
    schemas.c.id, schemas.c.name, schemas.c.description, schemas.c.schema
).where(
    schemas.c.user_id == bindparam("owner", type_=Identifier),
    schemas.c.scratch_id == bindparam("pad", type_=Identifier),
)


def register(tx: Tx, namespace: str) -> bool:
    """Make a namespace known; whether it was not."""
    statement = upsert.insert(tx.kind, namespaces).values(
        user_id=tx.scope.user_id, namespace=namespace, created_at=tx.now
    )
    added = statement.on_conflict_do_nothing().returning(namespaces.c.namespace)
    return tx.execute(added).first() is not None


def unregister(tx: Tx, namespace: str) -> bool:
    """Forget a namespace; whether it was known."""
    gone = delete(namespaces).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == namespace
    )
    return tx.execute(gone.returning(namespaces.c.namespace)).first() is not None


def is_registered(tx: Tx, namespace: str) -> bool:
    """Whether a namespace is known."""
    found = select(namespaces.c.namespace).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == namespace
    )
    return tx.execute(found).first() is not None


def namespaces_after(
    tx: Tx, after: tuple[datetime, str] | None, limit: int
) -> list[tuple[str, int, datetime]]:
    """Return namespaces with their number of pads and their age, oldest first."""
    used = (
        select(func.count())
        .select_from(pads)
        .where(*live(tx), pads.c.namespace == namespaces.c.namespace)
        .correlate(namespaces)
        .scalar_subquery()
    )
    statement = select(namespaces.c.namespace, used.label("pads"), namespaces.c.created_at).where(
        namespaces.c.user_id == tx.scope.user_id
    )
    if after is not None:
        later = namespaces.c.created_at > after[0]
        same = (namespaces.c.created_at == after[0]) & (namespaces.c.namespace > after[1])
        statement = statement.where(later | same)
    ordered = statement.order_by(namespaces.c.created_at, namespaces.c.namespace).limit(limit)
    return [(row.namespace, row.pads, row.created_at) for row in tx.execute(ordered)]


def made_at(tx: Tx, moment: datetime) -> list[str]:
    """Return the namespaces that were registered at that moment."""
    found = select(namespaces.c.namespace).where(
        namespaces.c.user_id == tx.scope.user_id, namespaces.c.created_at == moment
    )
    return list(tx.execute(found).scalars())


def pads_in(tx: Tx, namespace: str) -> list[Pad]:
    """Return the caller's pads in a namespace, locked, by id."""
    found = select(*COLUMNS).where(*live(tx), pads.c.namespace == namespace)
    locked = found.order_by(pads.c.scratch_id).with_for_update(key_share=True)
    return [pad_of(*row) for row in tx.execute(locked)]


def rename(tx: Tx, old: str, new: str) -> None:
    """Give a namespace's entry and its pads, those in the trash too, another name."""
    entry = select(
        namespaces.c.user_id, literal(new, CodePointString(200)), namespaces.c.created_at
    ).where(namespaces.c.user_id == tx.scope.user_id, namespaces.c.namespace == old)
    tx.execute(insert(namespaces).from_select(["user_id", "namespace", "created_at"], entry))
    unregister(tx, old)
    mine = (pads.c.user_id == tx.scope.user_id, pads.c.namespace == old)
    written: dict[str, Any] = {"updated_at": tx.now, "version": pads.c.version + 1}
    tx.execute(update(pads).where(*mine, pads.c.deleted_at.is_(None)).values(**written))
    tx.execute(update(pads).where(*mine).values(namespace=new))


def schemas_of(tx: Tx, scratch_id: str) -> list[SchemaEntry]:
    """Return a pad's schemas, by description, then by name."""
    found = tx.execute(_SCHEMAS, {"owner": tx.scope.user_id, "pad": scratch_id})
    entries = [SchemaEntry(*row) for row in found]
    return sorted(entries, key=lambda entry: (entry.description, entry.name))


def put_schemas(tx: Tx, scratch_id: str, entries: Iterable[SchemaEntry]) -> None:
    """Put entries in the place of those with the same ids, or beside the others."""
    given = list(entries)
    owned = {"user_id": tx.scope.user_id, "scratch_id": scratch_id}
    if given:
        drop_schemas(tx, scratch_id, [entry.id for entry in given])
        tx.execute(insert(schemas), [{**owned, **entry.shown} for entry in given])


def drop_schemas(tx: Tx, scratch_id: str, ids: Iterable[str]) -> None:
    """Delete schemas of a pad."""
    tx.execute(
        delete(schemas).where(
            schemas.c.user_id == tx.scope.user_id,
            schemas.c.scratch_id == scratch_id,
            schemas.c.id.in_(list(ids)),
        )
    )
