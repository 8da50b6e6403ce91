"""Links between things: made and removed, shown from both ends, heard by searches."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rolltop.core.addresses import (
    RECORD_KINDS,
    Address,
    full_address,
    is_id_start,
    parse_address,
    show_address,
)
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.evidence import MAX_URI_LENGTH, WEB_ADDRESS
from rolltop.core.journal import history
from rolltop.core.journal.snapshot import Moment
from rolltop.core.pagination import count_fitting
from rolltop.toolsets.desk import store
from rolltop.toolsets.desk.models import Link
from rolltop.toolsets.desk.opened import choose_one, find_service, first_line, read_titles
from rolltop.toolsets.desk.versions import read_thing_at
from rolltop.toolsets.tasks import TOOLSET as TASKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.db import Tx
    from rolltop.toolsets.desk.models import JsonObject, Relation
    from rolltop.toolsets.tasks.service import TaskService

_MAX_TITLE: Final = 80
_SHARE: Final = 4
"""The part of a budget, one in so many, that links may take of what is read."""
_SEEN_FROM_TARGET: Final[Mapping[Relation, str]] = {
    "relates": "relates",
    "implements": "implemented_by",
    "evidence": "evidence_for",
    "derived_from": "source_of",
    "supersedes": "superseded_by",
    "duplicates": "duplicated_by",
}


@dataclass(frozen=True)
class End:
    """One end of a link: its address with the whole id, and the thing's, without a place in it."""

    uri: str
    thing: str
    address: Address | None

    @classmethod
    def of(cls, address: Address, record_id: str = "") -> End:
        """Return the end at an address, of which a record's whole id may be known."""
        whole = replace(address, id=record_id or address.id)
        return cls(str(whole), str(replace(whole, version="", lines=None)), whole)

    @property
    def is_record(self) -> bool:
        """Whether the thing is kept here."""
        return self.address is not None and self.address.kind in RECORD_KINDS

    @property
    def may_be_start(self) -> bool:
        """Whether the beginning of an id may stand for the thing."""
        return self.is_record and self.address is not None and is_id_start(self.address.id)


def parse_end(text: str, name: str) -> End:
    """Parse an end of a link. Raises InvalidArgument."""
    given = require_storable(text, name).strip()
    if WEB_ADDRESS.fullmatch(given) and len(given) <= MAX_URI_LENGTH:
        return End(given, given, None)
    try:
        return End.of(parse_address(given))
    except InvalidArgument as refused:
        hint = f"{refused.hint} Addresses of the web may stand here too."
        raise InvalidArgument(f"{name}: {refused.message}", hint=hint) from None


def add_link(tx: Tx, source: End, target: End, relation: Relation) -> None:
    """Link two things; a link that is there stays."""
    keys = (store.key_of(source.thing), store.key_of(target.thing))
    store.add_link(tx, Link(relation, source.uri, keys[0], target.uri, keys[1]))


def remove_link(tx: Tx, source: End, target: End, relation: Relation) -> None:
    """Remove the links of a relation between two things.

    Raises NotFound, or InvalidArgument for an end that is the beginning of several things' ids.
    """
    from_, to = (
        (end.thing.lower(), True) if end.may_be_start else (end.thing, False)
        for end in (source, target)
    )
    found = store.links_between(tx, from_, to, relation)
    if not found:
        raise NotFound(
            f"{value_preview(source.uri)} is not linked by {relation} to "
            f"{value_preview(target.uri)}",
            hint="desk_read shows the links of both.",
        )
    things = {
        link_id: (parse_end(start, "from").thing, parse_end(end, "to").thing)
        for link_id, start, end in found
    }
    starts, ends = (set(some) for some in zip(*things.values(), strict=True))
    meant = choose_one("from", source.thing, starts), choose_one("to", target.thing, ends)
    store.remove_links(tx, [link_id for link_id, both in things.items() if both == meant])


def describe_links(tx: Tx, app: AppContext, end: End) -> tuple[list[JsonObject], int]:
    """List a thing's links in both directions, the newest first, each with what it leads to.

    Of very many not all are listed: the others are counted.
    """
    key = store.key_of(end.thing)
    kept = store.links_at(tx, [key])
    others = store.count_links(tx, key) - len(kept) if len(kept) == store.MAX_LINKS else 0
    found = [
        (link.relation, link.target)
        if link.source_key == key
        else (_SEEN_FROM_TARGET[link.relation], link.source)
        for link in reversed(kept)
    ]
    tasks: TaskService | None = find_service(app, TASKS)
    if tasks is not None:
        linking = tasks.find_linking(tx, end.thing)
        found += [("relates", full_address("task", task_id)) for task_id in linking]
    titles = _read_titles(tx, app, [uri for _relation, uri in found])
    described: list[JsonObject] = [
        {"relation": relation, "uri": show_address(uri), **({"title": title} if title else {})}
        for relation, uri in dict.fromkeys(found)
        for title in [titles.get(uri, "")]
    ]
    return described, others


def fit_links(described: Sequence[JsonObject], others: int, budget: int) -> JsonObject:
    """Return as many links as fit their share of a budget, and how many are left, with `others`."""

    def render(count: int) -> JsonObject:
        left = len(described) - count + others
        shown: JsonObject = {"links": list(described[:count])} if count else {}
        return {**shown, "more_links": left} if left else shown

    if not described:
        return {}
    return render(
        count_fitting(len(described), budget // _SHARE, render) if budget else len(described)
    )


def _read_titles(tx: Tx, app: AppContext, uris: Iterable[str]) -> dict[str, str]:
    addresses = {uri: parse_address(uri) for uri in uris if not WEB_ADDRESS.fullmatch(uri)}
    things = {uri: (address.kind, address.id) for uri, address in addresses.items()}
    titles = read_titles(tx, app, things.values())
    return {uri: first_line(titles.get(one) or "")[:_MAX_TITLE] for uri, one in things.items()}


def find_superseders(
    tx: Tx, app: AppContext, things: Sequence[str], moment: Moment | None
) -> dict[int, list[Link]]:
    """Map the places of things that are superseded, now or then, to the links that say so.

    What was gone or in the trash supersedes nothing.
    """
    places = defaultdict[str, list[int]](list)
    for at, thing in enumerate(things):
        places[store.key_of(thing)].append(at)
    superseded = defaultdict[int, list[Link]](list)
    found = (
        store.links_at(tx, places, "supersedes", targets_only=True)
        if moment is None
        else store.superseding_links(tx, places, moment)
    )
    if not found:
        return {}
    then = moment or Moment(history.last_sequence(tx), tx.now)
    sources = {link.source_key: link.source for link in found}
    gone = {key for key, uri in sources.items() if _is_gone(tx, app, uri, then)}
    for link in found:
        if link.source_key not in gone:
            for at in places[link.target_key]:
                superseded[at].append(link)
    return superseded


def _is_gone(tx: Tx, app: AppContext, uri: str, moment: Moment) -> bool:
    """Whether a thing of the desk was not there at a moment, or in the trash."""
    address = None if WEB_ADDRESS.fullmatch(uri) else parse_address(uri)
    for toolset in app.registry.toolsets:
        if address and toolset.earlier and address.kind in toolset.journal_kinds:
            with suppress(NotFound):  # nobody knows any more
                thing = read_thing_at(tx, app, toolset, moment, (address.kind, address.id))
                return thing is None or thing.is_deleted
    return False
