"""Pages of ranked places: each in the order asked for, and gone on with after any place of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.budget import compact
from rolltop.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.retrieval.models import Place

_LONGEST_CURSOR: Final = 100


@dataclass(frozen=True, slots=True)
class Position:
    """Where an answer starts: at the place `inside` of the page whose first rank is `start`."""

    start: int = 0
    inside: int = 0


class Pages:
    """The places a search found, best first, `limit` to a page.

    A page ordered by path holds the same places as one ordered by rank, and is gone on with by the
    same limit. `names` are the roots in order; `said` is whatever else the search was asked, so
    that no other goes on with its cursor. `compared` are the places that were ordered by their
    meaning: the cursor carries them, since others may have vectors by the time it comes back.
    """

    def __init__(
        self,
        places: Sequence[Place],
        limit: int,
        names: Sequence[str],
        said: Sequence[str | None],
        *,
        by_path: bool,
        compared: int = 0,
    ) -> None:
        """Take what was found; order nothing yet."""
        self._compared: Final = compared
        self._places: Final = places
        self._limit: Final = limit
        self._names: Final = list(names)
        self._said: Final = list(said)
        self._by_path: Final = by_path

    def position(self, cursor: str | None) -> Position:
        """Return where the cursor goes on.

        Raises:
            Invalid: CURSOR_INVALID, it is another search's, or what was given has changed since.

        """
        if cursor is None:
            return Position()
        match _values(cursor):
            case [str(mark), int(start), int(inside), int()] if (
                0 <= start <= len(self._places) and 0 <= inside <= self._limit
            ):
                at = Position(start, inside)
                if mark == self._mark(at):
                    return at
            case _:
                pass
        raise Invalid(
            "cursor is not one that this search answered, or what it answered before has changed: "
            "files did, or the index holds more of them now",
            code="CURSOR_INVALID",
            hint="Leave cursor out to start again.",
        )

    def rest(self, at: Position) -> list[Place]:
        """Return what is left of the page from a position on."""
        return self._page(at.start)[at.inside :]

    def more(self, at: Position) -> bool:
        """Return whether there is a page after that of the position."""
        return at.start + self._limit < len(self._places)

    def cursor(self, at: Position, given: int) -> str:
        """Return the cursor that goes on after the first `given` places of `rest(at)`."""
        start, inside = at.start, at.inside + given
        if inside == self._limit or not self._by_path:
            start, inside = start + inside, 0
        return compact([self._mark(Position(start, inside)), start, inside, self._compared])

    def _page(self, start: int) -> list[Place]:
        places = list(self._places[start : start + self._limit])
        if self._by_path:
            places.sort(key=self._path_order)
        return places

    def _path_order(self, place: Place) -> tuple[int, list[str], int]:
        return self._names.index(place.repo), place.path.split("/"), place.line

    def _mark(self, at: Position) -> str:
        """Return what stands for the search and for all the places given before a position."""
        before = [*self._places[: at.start], *self._page(at.start)[: at.inside]]
        given = [(place.repo, place.path, place.line) for place in before]
        limit = self._limit if self._by_path else None
        asked = [self._said, limit, self._names, self._by_path, self._compared, given]
        return blake2b(repr(asked).encode("utf-8", "replace"), digest_size=4).hexdigest()


def compared_before(cursor: str | None) -> int | None:
    """Return the places that were ordered by their meaning, None for a search that begins.

    Of what is no cursor it is 0.
    """
    if cursor is None:
        return None
    match _values(cursor):
        case [str(), int(), int(), int(compared)] if compared >= 0:
            return compared
        case _:
            return 0


def _values(cursor: str) -> Any:  # noqa: ANN401  # whatever somebody sent
    try:
        return json.loads(cursor) if len(cursor) <= _LONGEST_CURSOR else None
    except (ValueError, RecursionError):
        return None
