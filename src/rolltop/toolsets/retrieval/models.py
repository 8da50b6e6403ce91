"""What is looked for in the roots, what is found, and what the tools answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, NotRequired

from typing_extensions import TypedDict

Case = Literal["sensitive", "ignore", "smart"]
Order = Literal["rank", "path"]
JsonObject = dict[str, Any]

BOTH: Final = "both"
"""Stands for every root where a repo is asked for, and for more than one where it is answered."""


@dataclass(frozen=True)
class Query:
    """What an exact search looks for, already checked; `context` counts lines on each side."""

    text: str
    regex: bool = False
    case: Case = "sensitive"
    file_glob: str | None = None
    context: int = 0


@dataclass(frozen=True)
class Line:
    """One line of a file, numbered from 1, without its line end."""

    line: int
    text: str


@dataclass(frozen=True)
class Hit:
    """One matching line: `preview` is the line, cut around the match where it is long.

    The match begins at the preview's character `at`, counted from 0.
    """

    repo: str
    path: str
    line: int
    preview: str
    before: tuple[Line, ...] = ()
    after: tuple[Line, ...] = ()
    at: int = 0


@dataclass(frozen=True)
class Skipped:
    """How many files a search could not read, by reason."""

    binary: int = 0
    unreadable: int = 0
    special: int = 0
    too_large: int = 0
    changed: int = 0


@dataclass(frozen=True)
class Totals:
    """How many files of a root are searched, their bytes, and how many are passed by."""

    files: int
    bytes: int
    binary: int
    unreadable: int
    too_large: int


class Whole(NamedTuple):
    """A directory of which every file is chosen whose name is not hidden."""

    files: int
    """How many there are."""
    state: tuple[int, int, int, int, int]
    """Its size, times, inode and device: while it has these, it holds the same names."""


@dataclass(frozen=True)
class Found:
    """What an exact search found.

    `more`: more lines match than were asked for. `resume(i)` is where the page after hit i starts,
    as opaque JSON values: an answer that is cut to a budget goes on after a hit of its middle, so
    it is asked for any hit and whether or not there is `more`; what it costs is spent when it is
    first asked, since most answers fit. `files` and `bytes` were searched. `nearest`: for no hit,
    a spelling that does occur.
    """

    hits: tuple[Hit, ...]
    more: bool
    resume: Callable[[int], tuple[Any, ...]]
    files: int
    bytes: int
    skipped: Skipped
    nearest: str | None = None


@dataclass(frozen=True)
class Place:
    """One ranked result: a whole function, class, section or paragraph; `why` it matched.

    `own` is its own text, without the units inside it.
    """

    repo: str
    path: str
    line: int
    end_line: int
    own: str
    score: float
    why: tuple[str, ...]


class NextCall(TypedDict):
    """A call that is ready to send."""

    tool: str
    arguments: JsonObject


class Searched(TypedDict):
    """What was looked through in vain."""

    files: int
    bytes: int


class SkippedFiles(TypedDict):
    """Files passed over, by reason; reasons without files are left out."""

    binary: NotRequired[int]
    unreadable: NotRequired[int]
    special: NotRequired[int]
    too_large: NotRequired[int]
    changed: NotRequired[int]


class Meta(TypedDict):
    """What every answer says of itself; `repo` is `both` where more than one root is meant.

    `missing` are roots that were meant, but whose folders are gone.
    """

    repo: str
    duration_ms: int
    truncated: bool
    next: NotRequired[NextCall]
    next_cursor: NotRequired[str]
    total: NotRequired[int]
    searched: NotRequired[Searched]
    skipped: NotRequired[SkippedFiles]
    nearest: NotRequired[str]
    missing: NotRequired[list[str]]


class RankedMeta(Meta):
    """The same of a ranked search; `mode` says whether meaning took part beside the words."""

    mode: Literal["hybrid", "words"]


class LineData(TypedDict):
    """A numbered line."""

    line: int
    text: str


class Match(TypedDict):
    """A line that matches, and the lines around it."""

    repo: str
    path: str
    line: int
    preview: str
    before: NotRequired[list[LineData]]
    after: NotRequired[list[LineData]]


class RankedPlace(TypedDict):
    """A whole unit of a file that answers a query, and what of it matched."""

    repo: str
    path: str
    line: int
    end_line: int
    preview: str
    score: float
    why: list[Literal["words", "name", "path", "meaning"]]


class FileText(TypedDict):
    """Lines of a file as `text` or as `lines`; `sha256` and `total_lines` are of all its bytes."""

    repo: str
    path: str
    start_line: int
    end_line: int
    text: NotRequired[str]
    lines: NotRequired[list[LineData]]
    total_lines: int
    sha256: str
    encoding: NotRequired[str]


class EntryData(TypedDict):
    """A file (with its size in bytes) or a directory, by its path from the root."""

    path: str
    type: Literal["file", "directory"]
    size: NotRequired[int]


class Directory(TypedDict):
    """A directory's entries, in the order of their paths."""

    repo: str
    path: str
    entries: list[EntryData]


class SearchAnswer(TypedDict):
    """What repo_search answers."""

    result: list[Match]
    meta: Meta


class SmartSearchAnswer(TypedDict):
    """What repo_smart_search answers."""

    result: list[RankedPlace]
    meta: RankedMeta


class FileAnswer(TypedDict):
    """What repo_open_file and repo_get_snippet answer."""

    result: FileText
    meta: Meta


class DirectoryAnswer(TypedDict):
    """What repo_list_dir answers."""

    result: Directory
    meta: Meta


class Problem(TypedDict):
    """What failed, on what, and the call that repairs it."""

    code: str
    message: str
    details: JsonObject
    hint: str


class ErrorAnswer(TypedDict):
    """The toolset's error shape."""

    error: Problem
