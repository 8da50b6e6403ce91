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
    """Return a note, in an earlier version where one is named. Raises NotFound."""
    notebook, _account = notebooks.current(tx, settings)
    note = reading.get(tx, notebook.account, checks.identifier(note_id))
    if note is None:
        raise checks.missing(note_id)
    if version is None or version == note.local_version:
        return Shown.of(note)
    return _earlier(tx, notebook, note, version)


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


def _earlier(tx: Tx, notebook: Notebook, note: Note, version: int) -> Shown:
    kept = None
    if 1 <= version < note.local_version:
        kept = versions.get(tx, notebook.account, note.id, version)
    if kept is None:
        raise checks.version_gone(note.id, version)
    return Shown(note.id, version, kept.server_version, note.sync_state, kept.content)


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
