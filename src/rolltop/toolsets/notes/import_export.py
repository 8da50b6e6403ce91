"""Notes as files: Simplenote's own export, and Markdown files with front matter.

Each format turns bytes into portable notes and back, without loss.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final, cast

from rolltop.core.arguments import require_storable
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.settings import Settings
from rolltop.core.text.front_matter import parse_front_matter, render_front_matter
from rolltop.toolsets.notes.models import MAX_ID_LENGTH, BackendState, Content, JsonObject, NewNote
from rolltop.toolsets.notes.store import notebooks

BATCH_SIZE: Final = 100
_MAX_TIMESTAMP: Final = 1e11  # seconds; a greater date is not one
_LISTS: Final = {"activeNotes": False, "trashedNotes": True}
_FLAGS: Final = ("markdown", "pinned")
_PUBLISHED_URL: Final = "http://simp.ly/publish/"
_CREATED: Final = ("created", "date", "created_at")
_MODIFIED: Final = ("modified", "updated", "updated_at", "modified_at")


@dataclass(frozen=True)
class PortableNote:
    """A note with its id elsewhere, if any; `name` says where it is from."""

    content: Content
    id: str | None = None
    name: str = ""


@dataclass
class ImportCounts:
    """What became of imported notes; `older` were changed here after the file was, and stay."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    older: int = 0


class UnreadableNoteFile(InvalidArgument):
    """A file or an entry is no note as it should be."""


def read_notes(tx: Tx, settings: Settings) -> Iterator[PortableNote]:
    """Yield all notes of the caller, those in the trash too, by id."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    last = ""
    while batch := notebook.read_after(last, BATCH_SIZE):
        yield from (PortableNote(note.content, note.id) for note in batch)
        last = batch[-1].id


def refuse_repeated_ids(
    notes: Iterable[PortableNote | UnreadableNoteFile],
) -> Iterator[PortableNote | UnreadableNoteFile]:
    """Yield what was read, with an error in the place of a note whose id one before it has."""
    seen: dict[str, str] = {}
    for note in notes:
        if isinstance(note, UnreadableNoteFile) or note.id is None:
            yield note
        elif note.id in seen:
            yield UnreadableNoteFile(f"{note.name} has the same id as {seen[note.id]}")
        else:
            seen[note.id] = note.name
            yield note


def import_notes(
    tx: Tx, settings: Settings, batch: Sequence[PortableNote], counts: ImportCounts
) -> ImportCounts:
    """Import a batch of notes of different ids; return `counts` with theirs added.

    A note whose id is here already is changed if the file is as new or newer, and its version
    before stays in the history. If an account is connected, new notes are marked to be sent, and
    those that are here already stay.
    """
    notebook, account = notebooks.open_notebook(tx, settings)
    counts = replace(counts)  # the transaction may run again
    by_id = {note.id: note for note in batch if note.id is not None}
    here = notebook.get_many(list(by_id))
    state = BackendState("local" if account is None else "pending")
    new = [NewNote(note.content, note.id, state) for note in batch if note.id not in here]
    notebook.create(new, source="import")
    counts.added += len(new)
    for note_id, note in here.items():
        content = by_id[note_id].content
        if replace(content, extra={}) == replace(note.content, extra={}):
            counts.unchanged += 1
        elif account is not None or content.modified < note.content.modified:
            counts.older += 1
        else:
            notebook.write(note, content, source="import")
            counts.changed += 1
    return counts


def render_export(notes: Iterable[PortableNote]) -> bytes:
    """Render notes as Simplenote's export: one JSON document in UTF-8."""
    lists: dict[str, list[JsonObject]] = {name: [] for name in _LISTS}
    for note in notes:
        lists["trashedNotes" if note.content.trash else "activeNotes"].append(_render_entry(note))
    return json.dumps(lists, ensure_ascii=False, indent=2).encode()


def parse_export(data: bytes) -> Iterator[PortableNote | UnreadableNoteFile]:
    """Parse Simplenote's export; yield an error for each entry that is no note.

    Raises UnreadableNoteFile if the whole is no such document.
    """
    hint = "Choose notes.json of an export."
    try:
        whole: object = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise UnreadableNoteFile("The file is not JSON", hint=hint) from None
    if not isinstance(whole, dict) or not any(name in whole for name in _LISTS):
        raise UnreadableNoteFile(
            "The file is no export of Simplenote: it has neither activeNotes nor trashedNotes",
            hint=hint,
        )
    lists = cast("Mapping[str, Any]", whole)
    for name, is_trash in _LISTS.items():
        entries: object = [] if lists.get(name) is None else lists[name]
        if not isinstance(entries, list):
            raise UnreadableNoteFile(f"{name} is not a list")
        for at, entry in enumerate(cast("list[object]", entries)):
            try:
                yield _parse_entry(entry, f"{name}[{at}]", trash=is_trash)
            except InvalidArgument as error:
                yield UnreadableNoteFile(error.message)


def render_markdown(note: PortableNote) -> bytes:
    """Render a note as a Markdown file in UTF-8."""
    content = note.content
    front: JsonObject = {
        "id": note.id,
        "created": _format_timestamp(content.created),
        "modified": _format_timestamp(content.modified),
        "tags": list(content.tags),
    }
    if content.trash:
        front["trash"] = True
    if content.system_tags:
        front["system_tags"] = list(content.system_tags)
    if content.extra:
        front["extra"] = dict(content.extra)
    return render_front_matter(front, content.text)


def parse_markdown(data: bytes, name: str, file_modified: float) -> PortableNote:
    """Parse the Markdown file called `name`. Raises UnreadableNoteFile and InvalidText.

    A file without an id gets one that is the same whenever it is read unchanged; one without
    dates has those of the file.
    """
    try:
        whole = require_storable(data.decode(), name)
    except UnicodeDecodeError:
        raise UnreadableNoteFile(f"{name} is not UTF-8 text") from None
    try:
        front, text = parse_front_matter(whole)
    except ValueError:
        raise UnreadableNoteFile(f"The front matter of {name} is not YAML") from None
    modified = _front_matter_time(front, _MODIFIED, _parse_timestamp(file_modified, 0.0))
    content = Content(
        text=text,
        tags=_parse_texts(front.get("tags"), f"tags of {name}"),
        trash=front.get("trash") is True,
        modified=modified,
        created=_front_matter_time(front, _CREATED, modified),
        system_tags=_parse_texts(front.get("system_tags"), f"system_tags of {name}"),
        extra=_parse_extra(front.get("extra"), f"extra of {name}"),
    )
    note_id = _parse_id(front.get("id"))
    if note_id is None:
        note_id = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}\n{whole}"))
    return PortableNote(content, note_id, name)


def _render_entry(note: PortableNote) -> JsonObject:
    content = note.content
    entry: JsonObject = {
        "id": note.id,
        "content": content.text,
        "creationDate": _format_timestamp(content.created),
        "lastModified": _format_timestamp(content.modified),
    }
    if content.tags:
        entry["tags"] = list(content.tags)
    entry |= {flag: True for flag in _FLAGS if flag in content.system_tags}
    published = content.extra.get("publishURL")
    if isinstance(published, str) and published:
        entry["publicURL"] = f"{_PUBLISHED_URL}{published}"
    if _flag_tags(entry) != content.system_tags:
        entry["systemTags"] = list(content.system_tags)
    if content.extra:
        entry["extra"] = dict(content.extra)
    return entry


def _parse_entry(given: object, name: str, *, trash: bool) -> PortableNote:
    if not isinstance(given, dict):
        raise UnreadableNoteFile(f"{name} is not an object")
    entry = cast("Mapping[str, Any]", given)
    text = entry.get("content")
    if not isinstance(text, str):
        raise UnreadableNoteFile(f"{name}.content is not text")
    tags = _parse_texts(entry.get("tags"), f"{name}.tags")
    shared = _parse_texts(entry.get("collaboratorEmails"), f"{name}.collaboratorEmails")
    modified = _parse_timestamp(entry.get("lastModified"), 0.0)
    system_tags = _flag_tags(entry)
    if entry.get("systemTags") is not None:
        system_tags = _parse_texts(entry["systemTags"], f"{name}.systemTags")
    content = Content(
        text=require_storable(text, f"{name}.content"),
        tags=tuple(dict.fromkeys([*tags, *shared])),
        trash=trash,
        modified=modified,
        created=_parse_timestamp(entry.get("creationDate"), modified),
        system_tags=system_tags,
        extra=_parse_extra(entry.get("extra"), f"{name}.extra"),
    )
    return PortableNote(content, _parse_id(entry.get("id")), name)


def _flag_tags(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(flag for flag in _FLAGS if entry.get(flag) is True)


def _front_matter_time(front: Mapping[str, Any], names: tuple[str, ...], default: float) -> float:
    given = next((front[name] for name in names if front.get(name) is not None), None)
    return _parse_timestamp(given, default)


def _format_timestamp(seconds: float) -> str | float:
    """Format a time in ISO 8601, or as its seconds if that would not be the same time."""
    try:
        text = datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return seconds
    return text if _parse_timestamp(text, 0.0) == seconds else seconds


def _parse_timestamp(value: object, default: float) -> float:
    """Parse a time as files write it to its seconds."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= _MAX_TIMESTAMP else default
    if not isinstance(value, datetime):
        try:
            value = datetime.fromisoformat(str(value) if value is not None else "")
        except ValueError:
            return default
    return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()


def _parse_texts(value: object, name: str) -> tuple[str, ...]:
    """Parse a list of texts, each once; a single text may have several, separated by commas."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if not isinstance(value, list):
        raise UnreadableNoteFile(f"{name} is not a list")
    entries = cast("list[Any]", value)
    texts = [str(entry) for entry in entries if entry is not None and str(entry)]
    return tuple(dict.fromkeys(require_storable(text, name) for text in texts))


def _parse_id(value: object) -> str | None:
    if isinstance(value, str) and 1 <= len(value) <= MAX_ID_LENGTH:
        return require_storable(value, "id")
    return None


def _parse_extra(value: object, name: str) -> Mapping[str, Any]:
    """Check fields that only their own program knows; none if the value is no object."""
    if not isinstance(value, dict):
        return {}
    try:
        stored = json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise UnreadableNoteFile(f"{name} holds what JSON in UTF-8 cannot") from None
    return json.loads(stored)
