"""What goes into the index and what comes out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rolltop.core.addresses import Kind
    from rolltop.core.fulltext.phrase_query import PhraseQuery
    from rolltop.core.fulltext.query_syntax import QueryPart
    from rolltop.core.pagination import AddressText

QueryMode = Literal["hybrid", "words", "meaning"]
Filters = Mapping[str, str | Sequence[str]]
NO_EMBEDDING = "none"
"""The embedding version where no vector took part."""


@dataclass(frozen=True, slots=True)
class IndexDocument:
    """One part of something that can be found: `part` 0, 1, … of the thing `kind`, `id`.

    `filters` belong to the thing, not to the part: what they name may be asked for in a query.
    The tenant is the transaction's.
    """

    kind: str
    id: str
    part: int
    text: str
    filters: Filters = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class IndexHit:
    """One thing that was found, by its best part.

    `score` is between 0 and about 1, higher is better, comparable within one answer. `words` and
    `meaning` say what found it; `embedding_version` is "none" where no vector took part.
    """

    kind: str
    id: str
    part: int
    score: float
    snippet: str
    words: bool
    meaning: bool
    embedding_version: str


@dataclass(frozen=True, slots=True)
class PendingText:
    """A text that has no vector of the present model yet."""

    part_id: int
    user_id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextQuery:
    """What the desk searches for in each kind of texts; None and () filter nothing.

    `words` are those that texts of any kind may have, and `phrases` what they must have or must
    not. Notes go by all `parts` of the query. `kinds` are kinds of addresses.
    """

    words: str
    parts: Sequence[QueryPart]
    phrases: PhraseQuery
    kinds: frozenset[Kind]
    project: str | None = None
    tags: tuple[str, ...] = ()
    since: datetime | None = None
    limit: int = 30


@dataclass(frozen=True, slots=True)
class FoundText:
    """A text that the search of its kind found.

    `ref` is a record's whole id. `text` starts at `first_line` of what `uri` is the address of;
    `words` are those of the whole, as the index splits them, where they are kept; `at` is when it
    was changed. `by_meaning`: it need not have a word of the query.
    """

    kind: Kind
    uri: AddressText
    title: str
    text: str
    at: datetime
    ref: str = ""
    first_line: int = 1
    words: str = ""
    by_meaning: bool = False
