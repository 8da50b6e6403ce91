"""One bucket of one user: objects with versions, a log of changes, ids of changes seen."""

from __future__ import annotations

import copy
import heapq
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final, cast

from tests.simperium.merging import Json, merge

MAX_PAGE: Final = 1000
DEFAULT_PAGE: Final = 100
_MAX_ID_LENGTH: Final = 256


class Rejected(Exception):
    """The request is answered with an HTTP status other than 200."""

    def __init__(self, status: int, text: str = "") -> None:
        """Take the status and the body."""
        super().__init__(f"{status} {text}")
        self.status = status
        self.text = text


@dataclass
class Entity:
    """One object with all its versions; `data` is None once it is deleted for good."""

    version: int
    data: Json | None
    change: int
    versions: dict[int, Json]


@dataclass
class Bucket:
    """The objects of one bucket, in the order of their last changes.

    Every change has a number; as a cursor it is written with the bucket's `era`, so that a
    cursor of a time the server has forgotten is not mistaken for one it knows.
    """

    largest_object: int = 10 << 20
    entities: dict[str, Entity] = field(default_factory=dict[str, Entity])
    ccids: set[str] = field(default_factory=set[str])
    changes: int = 0
    era: int = 1
    known: dict[str, int] = field(default_factory=lambda: {"1-0": 0})

    @property
    def current(self) -> str:
        """The cursor of the newest change."""
        return f"{self.era:x}-{self.changes:x}"

    def live(self) -> dict[str, Json]:
        """Return the data of every object that is not deleted."""
        return {
            name: copy.deepcopy(entity.data)
            for name, entity in self.entities.items()
            if entity.data is not None
        }

    def index(
        self, limit: int | None, mark: str | None, since: str | None, *, data: bool
    ) -> dict[str, Any]:
        """Return a page of the newest objects first. 404 for a cursor that is not known."""
        size = min(limit or DEFAULT_PAGE, MAX_PAGE)
        after = -1 if since is None else self._number(since)
        before = self.changes + 1 if mark is None else self._number(mark)
        there = (
            (entity.change, name, entity)
            for name, entity in self.entities.items()
            if entity.data is not None and after < entity.change < before
        )
        found = heapq.nlargest(size + 1, there, key=itemgetter(0))
        page = found[:size]
        items: list[Json] = []
        for _change, name, entity in page:
            item: Json = {"id": name, "v": entity.version}
            if data:
                item["d"] = copy.deepcopy(entity.data)
            items.append(item)
        answer: Json = {"current": self.current, "index": items}
        if len(found) > size:
            answer["mark"] = f"{self.era:x}-{page[-1][0]:x}"
        return answer

    def get(self, name: str, version: int | None) -> tuple[int, Json]:
        """Return version and data. 404 for what is deleted, unknown or not kept."""
        entity = self.entities.get(name)
        if entity is None or (version is None and entity.data is None):
            raise Rejected(404, "not found")
        if version is None:
            return entity.version, copy.deepcopy(entity.data or {})
        if version not in entity.versions:
            raise Rejected(404, "no such version")
        return version, copy.deepcopy(entity.versions[version])

    def post(
        self, name: str, posted: Any, base: int | None, ccid: str | None, *, replace: bool = False
    ) -> tuple[int, Json]:
        """Return the new version and the whole object. Fields left out stay as they were."""
        if not isinstance(posted, dict) or not name or len(name) > _MAX_ID_LENGTH:
            raise Rejected(400, "invalid")
        sent: Json = {str(key): value for key, value in cast("Json", posted).items()}
        if ccid is not None and ccid in self.ccids:
            raise Rejected(409, "duplicate change")
        entity = self.entities.get(name)
        if len(repr(sent)) > self.largest_object:
            raise Rejected(413, "too large")
        changed = self._changed(entity, sent, base, replace=replace)
        if entity is not None and changed == entity.data:
            raise Rejected(412, "empty change")
        version = entity.version + 1 if entity else 1
        versions = {**(entity.versions if entity else {}), version: copy.deepcopy(changed)}
        self.entities[name] = Entity(version, changed, self._advance(ccid), versions)
        return version, copy.deepcopy(changed)

    def delete(self, name: str, base: int | None, ccid: str | None) -> int:
        """Delete for good and return the version. 404 if it is gone, 405 for a wrong version."""
        if ccid is not None and ccid in self.ccids:
            raise Rejected(409, "duplicate change")
        entity = self.entities.get(name)
        if entity is None or entity.data is None:
            raise Rejected(404, "not found")
        if base is not None and base != entity.version:
            raise Rejected(405, "bad version")
        self.entities[name] = Entity(
            entity.version + 1, None, self._advance(ccid), dict(entity.versions)
        )
        return entity.version + 1

    def go_back_to(self, earlier: Bucket) -> None:
        """Be what `earlier`, a copy made before, was: as a server restored from a backup is."""
        kept = copy.deepcopy(earlier)
        self.entities, self.ccids, self.changes = kept.entities, kept.ccids, kept.changes
        self.known = kept.known
        self.era += 1
        self.known[self.current] = self.changes

    def _changed(
        self, entity: Entity | None, sent: Json, base: int | None, *, replace: bool
    ) -> Json:
        if entity is None or entity.data is None:
            if base is not None:
                raise Rejected(404, "not found")
            return copy.deepcopy(sent)
        if base is not None and base not in entity.versions:
            raise Rejected(405, "bad version")
        before = entity.data if base is None else entity.versions[base]
        whole = copy.deepcopy(sent if replace else {**before, **sent})
        return whole if before is entity.data else merge(before, entity.data, whole)

    def _advance(self, ccid: str | None) -> int:
        self.changes += 1
        self.known[self.current] = self.changes
        if ccid is not None:
            self.ccids.add(ccid)
        return self.changes

    def _number(self, cursor: str) -> int:
        if cursor not in self.known:
            raise Rejected(404, "unknown cursor")
        return self.known[cursor]
