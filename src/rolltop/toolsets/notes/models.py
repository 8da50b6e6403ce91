"""What notes are: what the store returns, what the tools take and answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from rolltop.core.text.patch import Change

if TYPE_CHECKING:
    from rolltop.core.budget import Continuation

JsonObject = dict[str, Any]

LOCAL: Final = "local"
"""The account of the notes that belong to no account."""

ACCOUNT_LENGTH: Final = 64
ID_LENGTH: Final = 256
TITLE_LENGTH: Final = 80
MOST_TAGS: Final = 100
TAG_LENGTH: Final = 100
LONGEST_PAGE: Final = 100
MOST_PREVIEW_LINES: Final = 20
PREVIEW_LENGTH: Final = 2000
GUARDED_LENGTH: Final = 500
"""Characters of a note from which on a save may not cut it to a fifth unasked."""
GUARDED_SHARE: Final = 5
GONE_KEEPS: Final = 30 * 24 * 3600.0
"""Seconds for which the versions of a note that was deleted for good are kept."""
CURSOR: Final = "notes"

SyncState = Literal["local", "synced", "pending", "conflict"]
Source = Literal["local", "pull", "push", "merge", "restore", "import", "conflict", "delete"]
"""Where a version comes from: a tool, the backend, what it answered to a write, both of them."""
Sort = Literal["modified", "created", "rank"]
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
class Notebook:
    """Which notes a call is about: an account of the caller's, and how many versions it keeps.

    `history` counts the versions of a note, the present one included; 0 keeps all.
    """

    account: str = LOCAL
    history: int = 100


@dataclass(frozen=True)
class Account:
    """An account of a backend. `state` holds what only the sync knows, as JSON.

    `status` is idle, syncing, error or needs_accept; moments are UNIX seconds.
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
    """What a version of a note says. `extra` holds keys of the backend that we don't know."""

    text: str
    tags: tuple[str, ...] = ()
    trash: bool = False
    modified: float = 0.0
    created: float = 0.0
    system_tags: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Note:
    """A note as it is now.

    `base` is the backend's object as it was last known here, where the note differs from it;
    None where the note is as the backend has it, or the backend never had it.
    """

    number: int
    account: str
    id: str
    content: Content
    local_version: int
    server_version: int | None = None
    sync_state: SyncState = "local"
    source: Source = "local"
    base: Mapping[str, Any] | None = None

    @property
    def text(self) -> str:
        """The note's text."""
        return self.content.text


@dataclass(frozen=True)
class Version:
    """One version of a note; `gone_at` is set once the note was deleted for good."""

    note_id: str
    local_version: int
    server_version: int | None
    source: Source
    content: Content
    gone_at: float | None = None


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
class Listed:
    """A note as a list shows it; `key` is where the list goes on after it."""

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
class Save:
    """What a save asks for; of `text` and `patch` one is given."""

    id: str | None = None
    local_version: int | None = None
    server_version: int | None = None
    text: str | None = None
    patch: tuple[Change, ...] | None = None
    tags: tuple[str, ...] | None = None
    trash: bool | None = None
    confirm_shrink: bool = False


@dataclass(frozen=True)
class Saved:
    """A note as a save or a restore left it; `moved` pairs lines of a patch that was rebased."""

    note: Note
    moved: tuple[tuple[int, int], ...] | None = None


class Target(NamedTuple):
    """Which version of which note an action is about."""

    id: str
    local_version: int


class Erased(NamedTuple):
    """The last versions of a note that was deleted for good."""

    local_version: int
    server_version: int | None = None


@dataclass(frozen=True)
class Wanted:
    """Which notes a list is of, and in which order.

    `phrases` and `unwanted` are words in a row; `symbols` is looked up as it stands. `before` and
    `after` bound the moment of modification strictly.
    """

    tags: tuple[str, ...] = ()
    untagged: tuple[str, ...] = ()
    trash: bool | None = False
    before: float | None = None
    after: float | None = None
    phrases: tuple[tuple[str, ...], ...] = ()
    unwanted: tuple[tuple[str, ...], ...] = ()
    symbols: tuple[str, ...] = ()
    sort: Sort = "modified"


@with_config(ConfigDict(extra="forbid", strict=True))
class PatchOperation(TypedDict):
    """One operation of text_patch, as a caller writes it."""

    op: Literal["add", "mod", "del"]
    ln: Annotated[int, Field(ge=1)]
    val: NotRequired[str | None]


class Next(TypedDict):
    """The call that continues a cut answer."""

    tool: str
    arguments: JsonObject


class ListItem(TypedDict):
    """A note in a list."""

    id: str
    local_version: int
    title_prev: str
    preview: NotRequired[str]
    tags: list[str]
    modified_at: int
    trash: bool
    sync_state: SyncState


class NoteList(TypedDict):
    """What note_list answers."""

    items: list[ListItem]
    total_items: int
    next_page: NotRequired[int]
    next_cursor: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[Next]


class MovedLine(TypedDict):
    """A line of a patch and the line it was about by the time the patch was applied."""

    ln: int
    now: int


class NoteData(TypedDict):
    """A note; `text` may be a part of it, which the last fields then tell.

    `moved_left_out` counts the lines that `moved` has no room for.
    """

    id: str
    local_version: int
    server_version: NotRequired[int]
    text: str
    tags: list[str]
    modified_at: int
    created_at: int
    trash: bool
    txt_partial: bool
    txt_tot_ln: int
    range_line_start: NotRequired[int]
    range_line_count: NotRequired[int]
    sha256: str
    sync_state: SyncState
    rebased: NotRequired[bool]
    moved: NotRequired[list[MovedLine]]
    moved_left_out: NotRequired[int]
    truncated: NotRequired[bool]
    next: NotRequired[Next]


class VersionData(TypedDict):
    """A version of a note."""

    local_version: int
    server_version: NotRequired[int]
    modified_at: int
    bytes: int
    source: str


class Managed(TypedDict):
    """What trash, untrash and delete_permanently answer."""

    id: str
    status: Literal["trashed", "untrashed", "deleted"]
    new_local_version: int
    new_server_version: NotRequired[int]


class Stats(TypedDict):
    """What get_stats answers; moments are UNIX seconds."""

    version: str
    python_version: str
    memory_rss_mb: float | None
    db_encryption: Literal["enabled", "disabled", "unavailable"]
    db_file_size_mb: float | None
    db_total_notes: int
    db_last_sync_at: int | None
    db_sync_duration_ms: int | None
    db_sync_status: str
    db_sync_error_count: int
    db_schema_version: int
    backend_cursor: str | None
    pending_writes: int


class Reset(TypedDict):
    """What reset_cache answers."""

    status: Literal["success"]
    message: str
    full_resync_triggered: bool


class Synced(TypedDict):
    """What sync answers."""

    pulled: int
    pushed: int
    conflicts: int
    status: str


class History(TypedDict):
    """What history answers, newest first."""

    versions: list[VersionData]
    next_cursor: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[Next]


ManageAnswer = Managed | Stats | Reset | Synced | History | NoteData


class Failure(TypedDict):
    """What went wrong."""

    category: str
    code: str
    message: str
    details: JsonObject
    resolution_hint: str
    subcategory: NotRequired[str]
    http_status: int


class ErrorAnswer(TypedDict):
    """The toolset's error shape."""

    error: Failure


def continued(result: JsonObject, continuation: Continuation) -> JsonObject:
    """Return a cut answer with what it says about that: the call that goes on."""
    cursor = {"next_cursor": continuation.cursor} if continuation.cursor else {}
    return {**result, "truncated": True, **cursor, "next": continuation.next}
