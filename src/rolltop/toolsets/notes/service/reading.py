"""Notes as the tools answer them: whole, by lines, in an earlier version."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolltop.core.budget import Text
from rolltop.core.errors import Invalid
from rolltop.core.text.lines import Lines
from rolltop.toolsets.notes.service import checks, notebooks
from rolltop.toolsets.notes.store import reading, versions

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.core.errors import NotFound
    from rolltop.core.settings import Settings
    from rolltop.toolsets.notes.models import Content, JsonObject, Note, Notebook, SyncState


@dataclass(frozen=True)
class Range:
    """Which lines of a note: from `start`, `count` of them, 0 for all to the end.

    The first `skipped` characters of them are left out.
    """

    start: int | None = None
    count: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Shown:
    """One version of a note as an answer shows it."""

    id: str
    local_version: int
    server_version: int | None
    sync_state: SyncState
    content: Content

    @classmethod
    def of(cls, note: Note) -> Shown:
        """Return a note as it is now."""
        return cls(note.id, note.local_version, note.server_version, note.sync_state, note.content)


def get(tx: Tx, settings: Settings, note_id: str, version: int | None) -> Shown:
    """Return a note, in an earlier version where one is named. Raises NotFound.

    Of a note that was deleted for good its versions are left.
    """
    notebook, _account = notebooks.current(tx, settings)
    note = reading.get(tx, notebook.account, checks.identifier(note_id))
    if note is not None and version in {None, note.local_version}:
        return Shown.of(note)
    if version is None:
        raise missing(tx, notebook, note_id)
    kept = None
    if 1 <= version < checks.MOST_VERSIONS:
        kept = versions.get(tx, notebook.account, note_id, version)
    if kept is not None:
        state = note.sync_state if note is not None else "local"
        return Shown(note_id, version, kept.server_version, state, kept.content)
    if note is None and not versions.latest(tx, notebook.account, [note_id]):
        raise checks.missing(note_id)
    raise checks.version_gone(note_id, version)


def missing(tx: Tx, notebook: Notebook, note_id: str) -> NotFound:
    """Return the error of a note that is not there, which says so where it was deleted."""
    last = versions.latest(tx, notebook.account, [note_id]).get(note_id)
    kept = None if last is None else versions.get(tx, notebook.account, note_id, last)
    if kept is None or kept.gone_at is None:
        return checks.missing(note_id)
    return checks.deleted(note_id, kept.local_version)


def text(shown: Shown, lines: Range) -> Text:
    """Return the answer that shows a note's text, which may be cut. Raises Invalid for a range."""
    whole = Lines(shown.content.text)
    start = lines.start or 1
    last = start + lines.count - 1 if lines.count else max(len(whole), start)
    part = whole.between(start, last)
    if lines.skipped and lines.skipped >= len(part):
        raise Invalid(
            f"char_start {lines.skipped} is not within the {len(part)} characters asked for",
            code="INVALID_RANGE",
            hint="Send char_start as next answered it, or leave it out.",
        )
    first = whole.span(start, start)[0]
    shown_from = whole.line_at(first + lines.skipped) if lines.skipped else start
    told = _told(shown, len(whole))

    def envelope(given: str) -> JsonObject:
        is_whole = lines.skipped == 0 and len(given) == len(whole.text)
        answer: JsonObject = {**told, "text": given, "txt_partial": not is_whole}
        if lines.start is not None or not is_whole:
            answer["range_line_start"] = shown_from
            answer["range_line_count"] = _count(whole, first + lines.skipped, len(given))
        return answer

    def resume_at(end: int) -> dict[str, object]:
        place = first + lines.skipped + end
        line = whole.line_at(place)
        offset = place - whole.span(line, line)[0]
        changed: dict[str, object] = {
            "local_version": shown.local_version,  # another save may move the lines meanwhile
            "range_line_start": line,
            "char_start": offset,
        }
        if lines.count:
            changed["range_line_count"] = last - line + 1
        return changed

    return Text(part[lines.skipped :], envelope, resume_at)


def _told(shown: Shown, lines: int) -> JsonObject:
    """Return what an answer tells about a note besides its text, in the order of the answer."""
    told: dict[str, Any] = {"id": shown.id, "local_version": shown.local_version}
    if shown.server_version is not None:
        told["server_version"] = shown.server_version
    content = shown.content
    return {
        **told,
        "text": "",
        "tags": list(content.tags),
        "modified_at": int(content.modified // 1),
        "created_at": int(content.created // 1),
        "trash": content.trash,
        "txt_partial": False,
        "txt_tot_ln": lines,
        "sha256": hashlib.sha256(content.text.encode()).hexdigest(),
        "sync_state": shown.sync_state,
    }


def _count(whole: Lines, start: int, length: int) -> int:
    """Return how many lines a stretch of the text is part of."""
    if not length:
        return 0
    return whole.line_at(start + length - 1) - whole.line_at(start) + 1
