"""What a task is: what the store returns is what the tools answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NotRequired, Self

from typing_extensions import TypedDict

from rolltop.core import cursor
from rolltop.core.addresses import record_address, show_address
from rolltop.core.arguments import value_preview
from rolltop.core.errors import InvalidArgument
from rolltop.core.evidence import Evidence, EvidenceState, State
from rolltop.core.pagination import NextCall, VerbatimText, format_timestamp

SERVICE: Final = "rolltop.toolsets.tasks.service:TaskService"

JsonObject = dict[str, Any]
StatusFilter = Literal["all", "pending", "completed"]
Status = Literal["pending", "completed"]

MAX_TITLE_LENGTH: Final = 200
MAX_DESCRIPTION_LENGTH: Final = 2000
LOWEST_PRIORITY: Final = 4
"""0 is the most urgent."""
MAX_TAG_LENGTH: Final = 50
MAX_LINK_LENGTH: Final = 500
MAX_LIST_LENGTH: Final = 50
"""The most tags, links, criteria, evidence or blockers of one task, and tasks of one call."""
MAX_CRITERION_LENGTH: Final = 500
MAX_COMMENT_LENGTH: Final = 2000
MAX_COMMENTS_SHOWN: Final = 50
PLACES_OF_COMMENT: Final = 4096
"""More than a comment has characters, a noted take-over among them."""
MAX_AUTHOR_LENGTH: Final = 200
MAX_PAGE_SIZE: Final = 200
MAX_LEASE_SECONDS: Final = 86_400
"""Seconds."""
TRASH_RETENTION: Final = timedelta(days=30)
CURSOR: Final = "tasks"
"""The kind of cursor that list_tasks answers without conditions."""
STORED_COLUMNS: Final = (
    *("id", "title", "description", "status", "created_at", "updated_at", "version"),
    *("priority", "due_at", "links", "claimed_until", "claimed_by", "project"),
    *("acceptance", "evidence", "requires_evidence", "reopen_on_change", "assignee"),
)
"""The columns of a task's row that a Task holds."""
COMMENTS_CURSOR: Final = "comments"
"""The kind of cursor that get_task answers, before the task is named in it."""


@dataclass(frozen=True)
class TaskInput:
    """A task's fields as a caller sent them; None is left out, "", [] and -1 clear."""

    title: str | None = None
    description: str | None = None
    priority: int | None = None
    due_at: str | None = None
    tags: list[str] | None = None
    parent_id: str | None = None
    blocked_by: list[str] | None = None
    links: list[str] | None = None
    project: str | None = None
    acceptance: list[str] | None = None
    evidence: Sequence[str | Evidence] | None = None
    requires_evidence: bool | None = None
    reopen_on_change: bool | None = None
    assignee: str | None = None


@dataclass(frozen=True)
class CheckedEvidence:
    """The evidence of a task at a version, as it was found to prove what it should."""

    version: int
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True)
class FilterInput:
    """Which tasks a caller wants listed, as sent; None is no condition.

    The last two are the desk's own: the tags it must have, and after which time it was changed.
    """

    status: StatusFilter = "all"
    tag: str | None = None
    ready: bool = False
    parent_id: str | None = None
    due_before: str | None = None
    project: str | None = None
    q: str | None = None
    assignee: str | None = None
    all_tags: tuple[str, ...] = ()
    changed_after: datetime | None = None

    def cursor_kind(self, user_id: str | None = None) -> str:
        """Return the kind of the cursors of a list of that user's tasks with these conditions."""
        status = None if self.status == "all" else self.status
        given = (status, self.tag, self.ready, self.parent_id, self.due_before, user_id)
        return cursor.filtered_kind(CURSOR, *given, self.project, self.q, self.assignee)


@dataclass(frozen=True)
class TaskFilters:
    """Filters that were checked.

    `own_project` lets tasks without one pass as well; those that were given to `others` do not.
    """

    status: Status | None = None
    ready: bool = False
    parent_id: str | None = None
    due_before: datetime | None = None
    project: str | None = None
    own_project: str | None = None
    assignee: str | None = None
    others: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    changed_after: datetime | None = None


_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
ID_PREFIX: Final = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{0,4}|(-[0-9a-f]{4}){1,2}-[0-9a-f]{0,4}|(-[0-9a-f]{4}){3}-[0-9a-f]{0,11})?"
    r"|[0-9a-f]{8,32}",
    re.IGNORECASE | re.ASCII,
)
"""What may begin a UUID, or be one."""


def parse_id(text: str, name: str = "task_id") -> str:
    """Return a UUID in lower case. Raises InvalidArgument (INVALID_ID) for any other text."""
    if not _ID.fullmatch(text):
        taken = "the id of a task, which list_tasks answers, or its first 8 or more digits"
        taken = "a UUID" if name == "user_id" else taken
        raise InvalidArgument(
            "Invalid ID format",
            code="INVALID_ID",
            hint=f"{name} is {value_preview(text)}; send {taken}.",
        )
    return text.lower()


def hash_token(token: str) -> str:
    """Return a token's stored form: 96 random bits need no slow hash."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class ClaimAccess:
    """What a caller shows to write a task that may be claimed: its token's hash, or force."""

    claim_hash: str | None = None
    force: bool = False

    @classmethod
    def by(cls, token: str | None, *, force: bool) -> ClaimAccess:
        """Return what a caller shows with a token, if it has one."""
        return cls(None if token is None else hash_token(token), force)


@dataclass(frozen=True)
class Comment:
    """A line that was noted on a task when it came to a version."""

    version: int
    created_at: datetime
    author: str
    text: str


@dataclass(frozen=True)
class CommentPart:
    """A comment's characters from `start` to `end`: all of them where it is short."""

    comment: Comment
    start: int
    end: int

    @property
    def place(self) -> int:
        """Where a list that is newest first goes on after the part."""
        return self.comment.version * PLACES_OF_COMMENT + len(self.comment.text) - self.end

    @property
    def data(self) -> JsonObject:
        """The part as get_task shows it; its text is never cut again."""
        comment, total = self.comment, len(self.comment.text)
        shown: JsonObject = {
            "at": format_timestamp(comment.created_at),
            "by": comment.author,
            "text": VerbatimText(comment.text[self.start : self.end]),
        }
        if self.end - self.start == total:
            return shown
        return {**shown, "part": f"{self.start}-{self.end} of {total}"}


@dataclass(frozen=True)
class Task:
    """One task as its owner sees it now; what is in the trash shows neither here nor in it.

    `tags` and `blocked_by` are sorted. `claimed_until` is set while a claim runs, `lapsed_at`
    after one ran out unfinished, and `claimed_by` in both cases. What became of the `evidence`,
    each and in all, is known only where it was looked at.
    """

    id: str
    title: str
    description: str | None
    status: Status
    created_at: datetime
    updated_at: datetime
    version: int
    priority: int | None = None
    due_at: datetime | None = None
    tags: tuple[str, ...] = ()
    parent_id: str | None = None
    blocked_by: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    claimed_until: datetime | None = None
    lapsed_at: datetime | None = None
    claimed_by: str | None = None
    project: str | None = None
    acceptance: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    requires_evidence: bool = False
    reopen_on_change: bool = False
    assignee: str | None = None
    evidence_state: State | None = field(default=None, compare=False)
    evidence_states: tuple[EvidenceState, ...] = field(default=(), compare=False)

    @classmethod
    def of_row(
        cls, row: Mapping[Any, Any], tags: Iterable[str], blocked_by: Iterable[str], now: datetime
    ) -> Self:
        """Return the task of a row, with what other tables have of it, as it is at a moment."""
        values = {name: row[name] for name in (*STORED_COLUMNS, "parent_id")}
        until: datetime | None = values.pop("claimed_until")
        if values["status"] == "completed":
            until = None
        if until is None:
            values["claimed_by"] = None
        runs = until is not None and until > now
        values |= {
            "tags": tuple(sorted(tags)),
            "blocked_by": tuple(sorted(blocked_by)),
            "links": tuple(values["links"] or ()),
            "acceptance": tuple(values["acceptance"] or ()),
            "evidence": tuple(Evidence(*one) for one in values["evidence"] or ()),
            "requires_evidence": bool(values["requires_evidence"]),
            "reopen_on_change": bool(values["reopen_on_change"]),
            "claimed_until": until if runs else None,
            "lapsed_at": None if runs else until,
        }
        return cls(**values)

    @property
    def place(self) -> str:
        """Where the task stands in a list that is newest first, for a cursor."""
        return cursor.pack_moment(self.created_at, self.id)

    @property
    def data(self) -> JsonObject:
        """The task as TaskData: the optional fields only where they are set."""
        optional = {
            "description": self.description,
            "project": self.project,
            "assignee": self.assignee,
            "priority": self.priority,
            "due_at": self.due_at and format_timestamp(self.due_at),
            "tags": list(self.tags) or None,
            "parent_id": self.parent_id,
            "blocked_by": list(self.blocked_by) or None,
            "links": list(self.links) or None,
            "claim": self._claim,
            "released": self._release_reason,
            "requires_evidence": self.requires_evidence or None,
            "reopen_on_change": self.reopen_on_change or None,
            "evidence": self.evidence_state,
        }
        return {
            "task_id": self.id,
            "uri": record_address("task", self.id),
            "title": self.title,
            "status": self.status,
            "created_at": format_timestamp(self.created_at),
            "updated_at": format_timestamp(self.updated_at),
            "version": self.version,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @property
    def details(self) -> JsonObject:
        """The task as get_task shows it: with its criteria and all of its evidence."""
        states = self.evidence_states or [EvidenceState(one.uri) for one in self.evidence]
        evidence = [
            {name: value for name, value in one._asdict().items() if value}
            | {"uri": show_address(one.uri)}
            for one in states
        ]
        more = {"acceptance": list(self.acceptance), "evidence": evidence}
        return {**self.data, **{name: value for name, value in more.items() if value}}

    @property
    def _claim(self) -> JsonObject | None:
        if self.claimed_until is None:
            return None
        until = {"expires_at": format_timestamp(self.claimed_until)}
        return {**until, "by": self.claimed_by} if self.claimed_by else until

    @property
    def _release_reason(self) -> str | None:
        if self.lapsed_at is None:
            return None
        holder = f" of {self.claimed_by}" if self.claimed_by else ""
        return f"lease{holder} expired at {format_timestamp(self.lapsed_at)}"


@dataclass(frozen=True)
class OpenTasks:
    """Pending tasks: those begun (claimed, running or lapsed), the next ready ones, the blocked.

    `blockers` maps the pending tasks that others wait for to their titles. The counts are of all
    tasks of their kind.
    """

    begun: list[Task]
    ready: list[Task]
    blocked: list[Task]
    blockers: dict[str, str]
    begun_count: int
    blocked_count: int


@dataclass(frozen=True)
class Claim:
    """A claimed task and the token by which its holder renews the claim and completes it."""

    task: Task
    token: str

    @property
    def data(self) -> JsonObject:
        """TaskData whose claim also holds the token."""
        data = self.task.data
        return {**data, "claim": {"token": self.token, **data["claim"]}}


class ClaimData(TypedDict):
    """A running claim; only the answer of claim_task holds the token."""

    token: NotRequired[str]
    expires_at: str
    by: NotRequired[str]


class EvidenceData(TypedDict):
    """What proves that a task is done; `state`: it is another now, or gone; `became`: it moved."""

    uri: str
    state: NotRequired[State]
    became: NotRequired[str]


class TaskData(TypedDict):
    """A task as the tools answer it; get_task has all of its evidence, others what became of it."""

    task_id: str
    uri: NotRequired[str]
    title: str
    description: NotRequired[str]
    status: Status
    created_at: str
    updated_at: str
    version: int
    project: NotRequired[str]
    assignee: NotRequired[str]
    priority: NotRequired[int]
    due_at: NotRequired[str]
    tags: NotRequired[list[str]]
    parent_id: NotRequired[str]
    blocked_by: NotRequired[list[str]]
    links: NotRequired[list[str]]
    claim: NotRequired[ClaimData]
    released: NotRequired[str]
    acceptance: NotRequired[list[str]]
    requires_evidence: NotRequired[Literal[True]]
    reopen_on_change: NotRequired[Literal[True]]
    evidence: NotRequired[State | list[EvidenceData]]
    omitted: NotRequired[list[str]]


class CommentData(TypedDict):
    """A line that was noted on a task."""

    at: str
    by: str
    text: str
    part: NotRequired[str]


class TaskDetails(TaskData):
    """A task with what was changed and noted on it, newest first."""

    history: NotRequired[list[str]]

    comments: NotRequired[list[CommentData]]
    earlier_comments: NotRequired[int]


class TaskDetailsAnswer(TypedDict):
    """One task with its comments and last changes."""

    success: Literal[True]
    data: TaskDetails
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]


class TaskListAnswer(TypedDict):
    """Tasks, newest first, or those that answer `q` best first."""

    success: Literal[True]
    data: list[TaskData]
    hint: NotRequired[str]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]
