"""Queries and results of the searches, and the shapes of the tools' answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, NotRequired, Protocol

from typing_extensions import TypedDict

from rolltop.core.pagination import NextCall

if TYPE_CHECKING:
    from rolltop.workspace import FileStat, Root, Roots, SkippedEntries


Case = Literal["sensitive", "ignore", "smart"]
Order = Literal["rank", "path"]
JsonObject = dict[str, Any]

# As an argument, all roots; in an answer, more than one root.
MULTIPLE_ROOTS: Final = "both"


@dataclass(frozen=True)
class Query:
    """A checked exact query; `context` counts lines on each side of a match."""

    text: str
    regex: bool = False
    case: Case = "sensitive"
    file_glob: str | None = None
    context: int = 0


class Line(NamedTuple):
    """One line of a file, numbered from 1, without its line end."""

    line: int
    text: str


@dataclass(frozen=True)
class SearchMatch:
    """One matching line: `preview` is the line, truncated around the match if it is long.

    The match starts at the preview's character `at`, counted from 0.
    """

    repo: str
    path: str
    line: int
    preview: str
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()
    at: int = 0


class SkipCounts(NamedTuple):
    """Files that a search could not read, by reason."""

    binary: int = 0
    unreadable: int = 0
    special: int = 0
    too_large: int = 0
    changed: int = 0


class TermFiles(NamedTuple):
    """The files that contain each of some terms.

    `counts` estimates the number for all files from those searched; `left` files were not searched
    before the deadline.
    """

    by_term: dict[str, set[FileStat]]
    counts: dict[str, float]
    left: int


@dataclass(frozen=True)
class SearchResults:
    """The results of an exact search.

    `more` tells whether more lines match than requested. `resume(i)` is the position after hit i,
    as opaque JSON values: a truncated page ends after any hit. It is a function because it may list
    all remaining files, and most answers need no cursor. `files` and `bytes` were searched.
    """

    hits: tuple[SearchMatch, ...]
    more: bool
    resume: Callable[[int], tuple[Any, ...]]
    files: int
    bytes: int
    skipped: SkipCounts


@dataclass(frozen=True)
class RankedResult:
    """One ranked result: a whole function, class, section or paragraph; `why` it matched.

    `own` is its own text, without nested chunks; `titles` are those around it and its own. `also`
    are the lines of its file's next results, where it stands for the file.
    """

    repo: str
    path: str
    line: int
    end_line: int
    own: str
    score: float
    why: tuple[str, ...]
    titles: str = ""
    also: tuple[str, ...] = ()


class SearchedCounts(TypedDict):
    """What a search without results covered."""

    files: int
    bytes: int


class SkippedFiles(TypedDict):
    """Skipped files by reason; reasons without files are left out."""

    binary: NotRequired[int]
    unreadable: NotRequired[int]
    special: NotRequired[int]
    too_large: NotRequired[int]
    changed: NotRequired[int]


class Indexing(TypedDict):
    """Progress of the ranked index over the searched files."""

    done: int
    total: int


class Meta(TypedDict):
    """Metadata of an answer; `repo` is `both` for more than one root.

    `missing` roots were removed or moved since the start; `hint` helps with a glob that selects no
    file, or with an expression for the end of a text.
    """

    repo: str
    duration_ms: int
    truncated: bool
    next: NotRequired[NextCall]
    next_cursor: NotRequired[str]
    total: NotRequired[int]
    searched: NotRequired[SearchedCounts]
    skipped: NotRequired[SkippedFiles]
    nearest: NotRequired[str]
    missing: NotRequired[list[str]]
    hint: NotRequired[str]


class RankedMeta(Meta):
    """Metadata of a ranked search; `mode` tells whether embeddings were used.

    `unread` files may match and were not read; more of them while `indexing` is incomplete. Of
    files in `skipped` that are `too_large` only the beginning was ranked. `limited`: only the best
    results are listed, and there may be more.
    """

    mode: Literal["hybrid", "words"]
    unread: NotRequired[int]
    indexing: NotRequired[Indexing]
    limited: NotRequired[bool]


class LineData(TypedDict):
    """A numbered line."""

    line: int
    text: str


class MatchData(TypedDict):
    """A matching line and the lines around it."""

    repo: str
    path: str
    uri: NotRequired[str]
    line: int
    preview: str
    before: NotRequired[list[LineData]]
    after: NotRequired[list[LineData]]


# `in` is a keyword.
_Titled = TypedDict("_Titled", {"in": NotRequired[str]})


class RankedResultData(_Titled):
    """A function, class, section or paragraph that answers a query, and what matched.

    `in` are the titles around it and its own; `also` are more lines of the file that match, as
    `12-40`.
    """

    repo: str
    path: str
    uri: NotRequired[str]
    line: int
    end_line: int
    also: NotRequired[list[str]]
    preview: str
    score: float
    why: list[Literal["words", "name", "path", "meaning"]]


class EntryData(TypedDict):
    """A file (with its size in bytes) or a directory, by its path from the root."""

    path: str
    type: Literal["file", "directory"]
    size: NotRequired[int]


class Directory(TypedDict):
    """A directory's entries, in the order of their paths."""

    repo: str
    path: str
    uri: NotRequired[str]
    entries: list[EntryData]


class RepoSearchAnswer(TypedDict):
    """The answer of repo_search."""

    result: list[MatchData]
    meta: Meta


class SmartSearchAnswer(TypedDict):
    """The answer of repo_smart_search."""

    result: list[RankedResultData]
    meta: RankedMeta


class DirectoryAnswer(TypedDict):
    """The answer of repo_list_dir."""

    result: Directory
    meta: Meta


class Index(Protocol):
    """An index of a root's files, during one search."""

    def candidates(self, query: Query) -> Sequence[FileStat] | None:
        """List the files that may match, in the root's order; None if any may."""
        ...

    def is_text(self, entry: FileStat) -> bool | None:
        """Report whether a file is text; None if unknown."""
        ...


@dataclass(frozen=True)
class SearchRoot:
    """A root during a search; `files(skipped)` lists its current files in order."""

    roots: Roots
    root: Root
    files: Callable[[SkippedEntries], Iterable[FileStat]]
    index: Index | None = None

    @classmethod
    def from_walk(cls, roots: Roots, root: Root) -> SearchRoot:
        """Create a view that walks the root and has no index."""
        return cls(roots, root, lambda skipped: roots.walk(root, skipped=skipped))
