"""Links between things, as an export of the desk has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast, get_args

from rolltop.core.arguments import parse_timestamp, value_preview
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import format_timestamp
from rolltop.toolsets.desk import links, store
from rolltop.toolsets.desk.models import JsonObject, Link, Relation

_RELATIONS: Final = frozenset(get_args(Relation))


@dataclass
class LinkImport:
    """What became of imported links."""

    added: int = 0
    unchanged: int = 0
    refused: list[str] = field(default_factory=list[str])


def read_links(tx: Tx) -> list[JsonObject]:
    """Return the caller's links, the oldest first."""
    return [
        {
            "from": link.source,
            "relation": link.relation,
            "to": link.target,
            "created_at": format_timestamp(made),
        }
        for link, made in store.all_links(tx)
    ]


def import_links(tx: Tx, given: object, task_ids: Mapping[str, str]) -> LinkImport:
    """Import links that are not here yet; `task_ids` maps ids of tasks to those they have here."""
    result = LinkImport()
    if given is not None and not isinstance(given, list):
        result.refused.append("links is not a list")
        return result
    here = {link for link, _made in store.all_links(tx)}
    for at, entry in enumerate(cast("list[object]", given or [])):
        try:
            link, made = _parse_link(entry, task_ids)
        except InvalidArgument as error:
            result.refused.append(f"links[{at}]: {error.message}")
            continue
        if link in here:
            result.unchanged += 1
            continue
        store.add_link(tx, link, made)
        here.add(link)
        result.added += 1
    return result


def _parse_link(entry: object, task_ids: Mapping[str, str]) -> tuple[Link, datetime]:
    given = cast("dict[str, Any]", entry if isinstance(entry, dict) else {})
    relation = given.get("relation")
    if not isinstance(relation, str) or relation not in _RELATIONS:
        raise InvalidArgument(f"{value_preview(relation)} is no relation")
    source, target = (_parse_end(given.get(name), name, task_ids) for name in ("from", "to"))
    keys = (store.key_of(source.thing), store.key_of(target.thing))
    link = Link(cast("Relation", relation), source.uri, keys[0], target.uri, keys[1])
    return link, parse_timestamp(given.get("created_at"))


def _parse_end(given: object, name: str, task_ids: Mapping[str, str]) -> links.End:
    end = links.parse_end(str(given), name)
    if end.address is None or end.address.kind != "task":
        return end
    return links.End.of(end.address, task_ids.get(end.address.id, ""))
