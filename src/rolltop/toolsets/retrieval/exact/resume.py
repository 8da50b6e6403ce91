"""Where a search goes on: the last line that was given, and a check of all still to be read."""

from __future__ import annotations

import marshal
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rolltop.toolsets.retrieval.models import Query

_MARSHAL_VERSION: Final = 2
"""Later versions write the same values in more than one way."""


@dataclass(frozen=True)
class Position:
    """The last line given: `given` lines of its file went out so far.

    `check` stands for the query and the state of that file and all after it.
    """

    repo: str
    path: str
    line: int
    given: int
    check: int

    @classmethod
    def of(cls, values: Sequence[Any]) -> Position:
        """Return the position in a cursor's values. Raises Invalid: CURSOR_INVALID."""
        match values:
            case [str(repo), str(path), int(line), int(given), int(check)]:
                return cls(repo, path, line, given, check)
            case _:
                raise invalid()

    def values(self) -> tuple[Any, ...]:
        """Return the position as JSON values."""
        return self.repo, self.path, self.line, self.given, self.check


def check(query: Query, marks: Iterable[tuple[str, int]]) -> int:
    """Return a number that differs where the query, the files or their states differ.

    `marks` are names of roots, each with the sum of the marks of its files still to be read.
    """
    meant = (query.text, query.regex, query.case, query.file_glob)
    return zlib.crc32(marshal.dumps((meant, list(marks)), _MARSHAL_VERSION))


def invalid() -> Invalid:
    """Return the error of a cursor that cannot be gone on from."""
    return Invalid(
        "Files that the search had yet to read have changed, or cursor is another search's",
        code="CURSOR_INVALID",
        hint="Search again without cursor.",
    )
