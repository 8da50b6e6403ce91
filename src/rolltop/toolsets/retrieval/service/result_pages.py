"""Pages of ranked results, by rank or by path; a page can continue after any of its results."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.context import AppContext
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import compact_json
from rolltop.toolsets.retrieval.models import RankedResult

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.ranked import Ranking
    from rolltop.workspace import FileStat


_MAX_CURSOR_LENGTH: Final = 100
_MAX_SNAPSHOTS: Final = 16
# Larger rankings are not cached.
_MAX_CHARACTERS: Final = 4 << 20


@dataclass(frozen=True, slots=True)
class PagePosition:
    """Offset `inside` the page that starts at rank `start`."""

    start: int = 0
    inside: int = 0


class ResultPages:
    """The results of a search, best first, `limit` to a page.

    Ordering by path rearranges each page, so its cursor is bound to the same limit. `names` are the
    roots in order; `said` are the other arguments that a cursor is bound to. `compared` are the
    results ordered by embeddings: the cursor carries them, since more may have vectors later.
    """

    def __init__(
        self,
        places: Sequence[RankedResult],
        limit: int,
        names: Sequence[str],
        said: Sequence[str | None],
        *,
        by_path: bool,
        compared: int = 0,
    ) -> None:
        self._compared: Final = compared
        self._places: Final = places
        self._limit: Final = limit
        self._names: Final = list(names)
        self._said: Final = list(said)
        self._by_path: Final = by_path

    def position(self, cursor: str | None) -> PagePosition:
        """Find the position of the cursor.

        Raises InvalidArgument: INVALID_CURSOR, of another search or of changed results.
        """
        if cursor is None:
            return PagePosition()
        match _decode_cursor(cursor):
            case [str(mark), int(start), int(inside), int()] if (
                0 <= start <= len(self._places) and 0 <= inside <= self._limit
            ):
                at = PagePosition(start, inside)
                if mark == self._fingerprint(at):
                    return at
            case _:
                pass
        raise InvalidArgument(
            "cursor belongs to another search, or files or the index have changed since",
            code="INVALID_CURSOR",
            hint="Omit cursor to start again.",
        )

    def remaining(self, at: PagePosition) -> list[RankedResult]:
        """List the rest of the page from a position on."""
        return self._page(at.start)[at.inside :]

    def has_next(self, at: PagePosition) -> bool:
        """Report whether another page follows."""
        return at.start + self._limit < len(self._places)

    def cursor(self, at: PagePosition, given: int) -> str:
        """Build the cursor after the first `given` results of `remaining(at)`."""
        start, inside = at.start, at.inside + given
        if inside == self._limit or not self._by_path:
            start, inside = start + inside, 0
        return compact_json(
            [self._fingerprint(PagePosition(start, inside)), start, inside, self._compared]
        )

    def _page(self, start: int) -> list[RankedResult]:
        places = list(self._places[start : start + self._limit])
        if self._by_path:
            places.sort(key=self._path_order)
        return places

    def _path_order(self, place: RankedResult) -> tuple[int, list[str], int]:
        return self._names.index(place.repo), place.path.split("/"), place.line

    def _fingerprint(self, at: PagePosition) -> str:
        """Hash the search and all results before a position."""
        before = [*self._places[: at.start], *self._page(at.start)[: at.inside]]
        given = [(place.repo, place.path, place.line) for place in before]
        limit = self._limit if self._by_path else None
        asked = [self._said, limit, self._names, self._by_path, self._compared, given]
        return blake2b(repr(asked).encode("utf-8", "replace"), digest_size=4).hexdigest()


def compared_count(cursor: str | None) -> int | None:
    """Read the compared results from a cursor: None without a cursor, 0 for a malformed one."""
    if cursor is None:
        return None
    match _decode_cursor(cursor):
        case [str(), int(), int(), int(compared)] if compared >= 0:
            return compared
        case _:
            return 0


def _decode_cursor(cursor: str) -> Any:  # noqa: ANN401  # any JSON value
    try:
        return json.loads(cursor) if len(cursor) <= _MAX_CURSOR_LENGTH else None
    except (ValueError, RecursionError):
        return None


# The query, the glob and the names of the roots.
SearchKey = tuple[str, str | None, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The ranking of files in certain states; embeddings ordered `compared` results."""

    asked: SearchKey
    files: Sequence[Sequence[FileStat]]
    """By root."""
    found: Ranking
    compared: int


class _Snapshots:
    def __init__(self, _app: AppContext) -> None:
        self.latest: deque[Snapshot] = deque(maxlen=_MAX_SNAPSHOTS)


def add_snapshot(app: AppContext, snapshot: Snapshot) -> None:
    """Cache a ranking; drop the oldest."""
    if sum(len(place.own) for place in snapshot.found.places) <= _MAX_CHARACTERS:
        app.service(_Snapshots).latest.append(snapshot)


def find_snapshots(
    app: AppContext, page_request: SearchKey, files: Sequence[Sequence[FileStat]]
) -> Iterator[Snapshot]:
    """Yield cached rankings of the same search of unchanged files, latest first."""
    # A copy: a deque that grows meanwhile cannot be walked. Copying is one step for other threads.
    for snapshot in reversed(app.service(_Snapshots).latest.copy()):
        if snapshot.asked == page_request and all(
            before is now or before == now
            for before, now in zip(snapshot.files, files, strict=True)
        ):
            yield snapshot
