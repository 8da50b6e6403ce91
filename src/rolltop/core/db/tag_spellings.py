"""Which spellings of tags a table has."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from sqlalchemy import Column, func, select

from rolltop.core.db.database import Tx
from rolltop.core.tags import fold_tag


def find_spellings(
    tx: Tx, owner: str, tag: Column[Any], wanted: Collection[str]
) -> dict[str, list[str]]:
    """Map each of the tags that are wanted to its spellings in a column, its own among them.

    The column's table has an owner's tags in an index, from which each is read once: the cost
    grows with the tags, not with what has them.
    """
    folded = {one: fold_tag(one) for one in wanted}
    found = {one: {one} for one in wanted}
    if not wanted:
        return {}
    mine = tag.table.c.user_id == owner
    first = select(func.min(tag).label("tag")).where(mine).cte("used", recursive=True)
    following = select(func.min(tag)).where(mine, tag > first.c.tag).scalar_subquery()
    used = first.union_all(select(following).where(first.c.tag.is_not(None)))
    for spelling in tx.execute(select(used.c.tag).where(used.c.tag.is_not(None))).scalars():
        for one, fold in folded.items():
            if fold_tag(spelling) == fold:
                found[one].add(spelling)
    return {one: sorted(spellings) for one, spellings in found.items()}
