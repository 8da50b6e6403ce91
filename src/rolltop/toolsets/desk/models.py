"""What the desk's tools answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from rolltop.core.addresses import Kind
from rolltop.core.pagination import NextCall

JsonObject = dict[str, Any]
Relation = Literal["relates", "implements", "evidence", "derived_from", "supersedes", "duplicates"]


@dataclass(frozen=True)
class Link:
    """A link from one thing to another: their addresses, and the keys of the things."""

    relation: Relation
    source: str
    source_key: str
    target: str
    target_key: str


class ThingRef(TypedDict):
    """Another thing: the pad of a cell, what a task waits for."""

    uri: str
    title: NotRequired[str]


class LinkData(TypedDict):
    """A link as one end sees it, such as `superseded_by`: what is at the other end."""

    relation: str
    uri: str
    title: NotRequired[str]


class LinkAnswer(TypedDict):
    """Two things, and whether they are linked now."""

    uri: NotRequired[str]
    relation: Relation
    to: NotRequired[str]
    linked: bool
    omitted: NotRequired[list[str]]


class DeskHit(TypedDict):
    """A text that was found: its best lines, from `line` (1 unless it says), who changed it when.

    `title` has the titles around them, the outermost first; scores are comparable between kinds.
    """

    uri: NotRequired[str]
    kind: Kind
    title: NotRequired[str]
    line: NotRequired[int]
    lines: NotRequired[str]
    score: NotRequired[float]
    by: NotRequired[str]
    at: str
    superseded_by: NotRequired[str]


class SearchAnswer(TypedDict):
    """Texts of all kinds, best first; `matched`: whether one has all of the words, or some.

    Where nothing was found, `searched` has the kinds and `nearest` a word that is there. Of
    kinds in `limited` only the best were listed; `unsearched` says why some were not searched, or
    not everywhere.
    """

    hits: list[DeskHit]
    matched: NotRequired[Literal["all", "some", "meaning"]]
    searched: NotRequired[list[str]]
    nearest: NotRequired[str]
    limited: NotRequired[list[str]]
    unsearched: NotRequired[dict[str, str]]
    omitted: NotRequired[list[str]]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]


class ChangeData(TypedDict):
    """What one operation did to one thing; `undone_by` is the operation that took it back."""

    sequence: int
    operation: str
    uri: NotRequired[str]
    tool: NotRequired[str]
    by: str
    at: str
    summary: str
    undone_by: NotRequired[str]


class JournalAnswer(TypedDict):
    """Entries of the journal; `next` continues a truncated list."""

    changes: list[ChangeData]
    truncated: NotRequired[bool]
    next_cursor: NotRequired[str]
    next: NotRequired[NextCall]


class OpenTask(TypedDict):
    """A task that is not done; of a begun one `by` holds or held it `until` the lease ends.

    `changed` says what others did to it since.
    """

    uri: NotRequired[str]
    title: str
    by: NotRequired[str]
    until: NotRequired[str]
    lapsed: NotRequired[bool]
    why: NotRequired[str]
    blocked_by: NotRequired[list[ThingRef]]
    changed: NotRequired[str]
    problem: NotRequired[str]


class TouchedThing(TypedDict):
    """What was changed last of a thing; without `by`, by the caller's client.

    Of a file it is known only when.
    """

    uri: str
    title: NotRequired[str]
    summary: NotRequired[str]
    by: NotRequired[str]
    at: str


class BrokenThing(TypedDict):
    """What needs repair, and why."""

    uri: NotRequired[str]
    title: NotRequired[str]
    problem: NotRequired[str]
    changed: NotRequired[str]


class ResumeAnswer(TypedDict):
    """Where the work stands; lists that are empty are left out, `more` counts what is not shown.

    `recent` has pads and notes, then as many files as there is room for; `pending` says where
    those are of an earlier listing, or still being listed.
    """

    project: NotRequired[str]
    in_work: NotRequired[list[OpenTask]]
    ready: NotRequired[list[OpenTask]]
    blocked: NotRequired[list[OpenTask]]
    recent: NotRequired[list[TouchedThing]]
    changed_by_others: NotRequired[list[TouchedThing]]
    broken: NotRequired[list[BrokenThing]]
    pending: NotRequired[str]
    more: NotRequired[dict[str, int]]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class SkippedOperation(TypedDict):
    """An operation that was not taken back, since it was already."""

    operation: str
    reason: str


class UndoAnswer(TypedDict):
    """What was taken back; `operation` undoes that again. Without it nothing was done.

    With `project`, only what was done in that and in none.
    """

    operation: NotRequired[str]
    project: NotRequired[str]
    dry_run: NotRequired[bool]
    undone: list[str]
    skipped: NotRequired[list[SkippedOperation]]
    omitted: NotRequired[list[str]]
