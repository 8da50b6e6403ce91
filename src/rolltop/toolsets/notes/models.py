"""The data of notes: what the store returns, and what the tools take and answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from rolltop.core.db import Tx
from rolltop.core.pagination import NextCall
from rolltop.core.text.patch import LineChange

if TYPE_CHECKING:
    from rolltop.core.fulltext.phrase_query import Phrase, PhraseQuery

JsonObject = dict[str, Any]

# The account of the notes that belong to no account of a backend.
LOCAL_ACCOUNT: Final = "local"

MAX_ACCOUNT_LENGTH: Final = 64
MAX_ID_LENGTH: Final = 256
MAX_TITLE_LENGTH: Final = 80
MAX_TAGS: Final = 100
MAX_TAG_LENGTH: Final = 100
MAX_PAGE_SIZE: Final = 100
MAX_PREVIEW_LINES: Final = 20
MAX_PREVIEW_LENGTH: Final = 2000
_SHRINK_GUARD_LENGTH: Final = 500
_SHRINK_GUARD_DIVISOR: Final = 5
# Versions of a note that was deleted for good stay this long.
ERASED_RETENTION_SECONDS: Final = 30 * 24 * 3600.0
CURSOR: Final = "notes"
CONFLICT_TAG: Final = "conflict"
"""What a sync tags the copies with that keep what could not be merged."""
CONFLICT_KEY: Final = "conflictOf"
"""The key of a conflict copy's object that names the original note."""

SyncState = Literal["local", "synced", "pending", "conflict"]
Source = Literal["local", "pull", "push", "merge", "restore", "import", "conflict", "delete"]
Sort = Literal["modified", "created", "rank"]
# Whether the first listed notes contain all terms of the query, some, or one only as a prefix.
MatchMode = Literal["all", "some", "prefix"]
Action = Literal[
    "trash",
    "untrash",
    "delete_permanently",
    "get_stats",
    "reset_cache",
    "sync",
    "history",
    "restore",
]


@dataclass(frozen=True)
class Account:
    """An account of a backend; `state` is the JSON of a `SyncRecord`.

    `status` is idle, syncing, error or needs_accept; times are UNIX seconds.
    """

    account: str
    is_active: bool = True
    username: str | None = None
    cursor: str | None = None
    status: str = "idle"
    error_count: int = 0
    last_sync_at: float | None = None
    sync_duration_ms: float | None = None
    state: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Content:
    """The content of one version of a note; `extra` holds the backend's keys unknown here."""

    text: str
    tags: tuple[str, ...] = ()
    trash: bool = False
    modified: float = 0.0
    created: float = 0.0
    system_tags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class BackendState:
    """What is known of a note at its backend.

    `base` is the backend's object as last seen, if the note differs from it; None if the note is
    as the backend has it, or the backend never had it.
    """

    sync_state: SyncState = "local"
    server_version: int | None = None
    base: Mapping[str, Any] | None = None


LOCAL_STATE: Final = BackendState()


@dataclass(frozen=True)
class Note:
    """A note as it is now; `number` is its number in the search index."""

    number: int
    account: str
    id: str
    content: Content
    local_version: int
    source: Source = "local"
    backend: BackendState = LOCAL_STATE

    @property
    def text(self) -> str:
        """The note's text."""
        return self.content.text

    @property
    def server_version(self) -> int | None:
        """The version at the backend, None if it never had the note."""
        return self.backend.server_version

    @property
    def sync_state(self) -> SyncState:
        """Whether the backend has the note as it is here."""
        return self.backend.sync_state

    @property
    def base(self) -> Mapping[str, Any] | None:
        """The backend's object as last seen, if the note differs from it."""
        return self.backend.base


@dataclass(frozen=True)
class NewNote:
    """A note to create; without an id it gets one. `local_version` is what it is at least."""

    content: Content
    id: str | None = None
    backend: BackendState = LOCAL_STATE
    local_version: int = 1


@dataclass(frozen=True)
class Version:
    """An earlier version of a note; `erased_at` is set once the note was deleted for good."""

    local_version: int
    server_version: int | None
    source: Source
    content: Content
    erased_at: float | None = None

    @classmethod
    def of(cls, note: Note) -> Version:
        """Return a note's present version as an earlier one."""
        known = note.backend.server_version
        return cls(note.local_version, known, note.source, note.content)


@dataclass(frozen=True)
class VersionHead:
    """A version of a note without its text; `size` is in bytes of UTF-8."""

    local_version: int
    server_version: int | None
    modified: float
    size: int
    source: Source

    @property
    def data(self) -> JsonObject:
        """The version as `history` answers it."""
        data: JsonObject = {"local_version": self.local_version}
        if self.server_version is not None:
            data["server_version"] = self.server_version
        return {
            **data,
            "modified_at": int(self.modified),
            "bytes": self.size,
            "source": self.source,
        }


@dataclass(frozen=True)
class NoteSummary:
    """A note as a list shows it; `key` sorts it, `head` is the beginning of its text."""

    id: str
    local_version: int
    title: str
    tags: tuple[str, ...]
    modified: float
    trash: bool
    sync_state: SyncState
    key: tuple[float, float]
    head: str | None = None


@dataclass(frozen=True)
class ListQuery:
    """The arguments of note_list that choose notes and their order."""

    q: str | None = None
    tags: Sequence[str] = ()
    trash_s: int = 0
    dt_before: str | None = None
    dt_after: str | None = None
    sort: Sort | None = None


@dataclass(frozen=True)
class NotePageRequest:
    """The page of a list to show: by number, or by the cursor of the page before."""

    limit: int = 20
    page: int = 1
    cursor: str | None = None
    preview_lines: int = 0


@dataclass(frozen=True)
class LineRange:
    """Lines of a note: `count` of them from `start`, less the first `skipped` characters.

    A count of 0 means all lines to the end.
    """

    start: int | None = None
    count: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class SaveRequest:
    """The arguments of a save; exactly one of `text` and `patch` is valid."""

    id: str | None = None
    local_version: int | None = None
    server_version: int | None = None
    text: str | None = None
    patch: tuple[LineChange, ...] | None = None
    tags: tuple[str, ...] | None = None
    trash: bool | None = None
    confirm_shrink: bool = False


@dataclass(frozen=True)
class SaveResult:
    """The saved note; `moved` pairs the lines of a rebased patch, before and after."""

    note: Note
    moved: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True)
class OneWrite:
    """What makes one of several alike writes; a note that it creates gets `new_id`.

    `run` runs a function that saves a note within a transaction, as `CallContext.run_once` does.
    What is about to be sent is kept by `keep`, for a later call to `find`.
    """

    new_id: str | None = None
    run: Callable[[Tx, Callable[[Tx], SaveResult]], SaveResult] = lambda tx, function: function(tx)
    keep: Callable[[Tx, JsonObject], None] = lambda _tx, _sent: None
    find: Callable[[Tx], JsonObject | None] = lambda _tx: None


@dataclass(frozen=True)
class NoteFilters:
    """Which notes a list shows, and in which order.

    Texts must match `phrases`; of the terms in `names` some may be missing: `typed` is how they
    were typed. `symbols` are matched literally. `before` and `after` bound the modification time
    strictly. With `is_partial` the query has more phrases than count.
    """

    phrases: PhraseQuery
    tags: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()
    trash: bool | None = False
    before: float | None = None
    after: float | None = None
    names: tuple[Phrase, ...] = ()
    typed: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    sort: Sort = "modified"
    is_partial: bool = False


@with_config(ConfigDict(extra="forbid", strict=True))
class PatchOperation(TypedDict):
    """One operation of text_patch."""

    op: Literal["add", "mod", "del"]
    ln: Annotated[int, Field(ge=1)]
    val: NotRequired[str | None]


class ListItem(TypedDict):
    """A note in a list."""

    id: str
    uri: NotRequired[str]
    local_version: int
    title_prev: str
    preview: NotRequired[str]
    tags: NotRequired[list[str]]
    modified_at: int
    trash: bool
    sync_state: SyncState


class NoteList(TypedDict):
    """The answer of note_list."""

    items: list[ListItem]
    total_items: int
    matched: NotRequired[MatchMode]
    nearest: NotRequired[str]
    next_page: NotRequired[int]
    next_cursor: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


def is_cut(before: int, after: int) -> bool:
    """Whether a text shrinks so much, from so many characters to so many, that one must ask."""
    return before > _SHRINK_GUARD_LENGTH and after * _SHRINK_GUARD_DIVISOR < before
