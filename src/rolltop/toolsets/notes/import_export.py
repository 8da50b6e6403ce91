"""Notes as files: Simplenote's own export, and Markdown files with front matter.

Each format turns bytes into portable notes and back, without loss. What a note was before is a file
of its own, in JSON.
"""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import Any, Final, cast

from rolltop.core.arguments import require_storable
from rolltop.core.db import Tx
from rolltop.core.db.types import MAX_VERSION
from rolltop.core.errors import InvalidArgument
from rolltop.core.settings import Settings
from rolltop.core.text.front_matter import parse_front_matter, render_front_matter
from rolltop.toolsets.notes.models import (
    MAX_ID_LENGTH,
    BackendState,
    Content,
    JsonObject,
    NewNote,
    Version,
)
from rolltop.toolsets.notes.store import notebooks
from rolltop.toolsets.notes.store.notebooks import Notebook

BATCH_SIZE: Final = 100
_MAX_TIMESTAMP: Final = 1e11  # seconds; a greater date is not one
_LISTS: Final = {"activeNotes": False, "trashedNotes": True}
_FLAGS: Final = ("markdown", "pinned")
_PUBLISHED_URL: Final = "http://simp.ly/publish/"
_CREATED: Final = ("created", "date", "created_at")
_MODIFIED: Final = ("modified", "updated", "updated_at", "modified_at")
_TIMES: Final = (*_CREATED, *_MODIFIED)
_FIELD_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "id": str,
    "title": str,
    "trash": bool,
    "extra": dict,
    **dict.fromkeys(("tags", "system_tags"), object),
    **dict.fromkeys(_TIMES, (int, float, date)),
}
_NOTHING: Final[tuple[object, ...]] = (None, "", [], {})


@dataclass(frozen=True)
class NoteHistory:
    """The earlier versions of a note, oldest first; without `local_version` it was deleted."""

    id: str
    local_version: int | None
    versions: tuple[Version, ...]


@dataclass(frozen=True)
class PortableNote:
    """A note with its id elsewhere, if any; `name` says where it is from."""

    content: Content
    id: str | None = None
    name: str = ""
    history: NoteHistory | None = None


@dataclass
class ImportCounts:
    """What became of imported notes.

    `older` were changed here after the file was, and stay; `kept` are different here, and stay
    since they are an account's.
    """

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    older: int = 0
    kept: int = 0


class UnreadableNoteFile(InvalidArgument):
    """A file or an entry is no note as it should be."""


def read_notes(tx: Tx, settings: Settings, *, with_history: bool = False) -> Iterator[PortableNote]:
    """Yield all notes of the caller, those in the trash too, by id."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    last = ""
    while batch := notebook.read_after(last, BATCH_SIZE):
        for note in batch:
            has_past = with_history and note.local_version > 1
            past = _read_history(notebook, note.id, note.local_version) if has_past else None
            yield PortableNote(note.content, note.id, history=past)
        last = batch[-1].id


def count_elsewhere(tx: Tx, settings: Settings) -> int:
    """Count the caller's notes that `read_notes` leaves out: of other accounts, or of none."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    return notebook.count_elsewhere()


def read_erased(tx: Tx, settings: Settings) -> Iterator[NoteHistory]:
    """Yield what is kept of the caller's notes that were deleted for good, by id."""
    notebook, _account = notebooks.open_notebook(tx, settings)
    for note_id in notebook.list_erased():
        yield _read_history(notebook, note_id, None)


def _read_history(notebook: Notebook, note_id: str, local_version: int | None) -> NoteHistory:
    heads = reversed(notebook.list_versions(note_id))
    found = (notebook.get_version(note_id, head.local_version) for head in heads)
    return NoteHistory(note_id, local_version, tuple(one for one in found if one is not None))


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
    those that are here already stay. The history of a new note is imported with it, unless some is
    known here.
    """
    notebook, account = notebooks.open_notebook(tx, settings)
    counts = replace(counts)  # the transaction may run again
    by_id = {note.id: note for note in batch if note.id is not None}
    here = notebook.get_many(list(by_id))
    state = BackendState("local" if account is None else "pending")
    new = [
        NewNote(note.content, note.id, state, _put_history(notebook, note.history))
        for note in batch
        if note.id not in here
    ]
    notebook.create(new, source="import")
    counts.added += len(new)
    for note_id, note in here.items():
        content = by_id[note_id].content
        if replace(content, extra={}) == replace(note.content, extra={}):
            counts.unchanged += 1
        elif content.modified < note.content.modified:
            counts.older += 1
        elif account is not None:
            counts.kept += 1
        else:
            notebook.write(note, content, source="import")
            counts.changed += 1
    return counts


def import_erased(tx: Tx, settings: Settings, history: NoteHistory) -> None:
    """Import what is kept of a note that was deleted for good, unless the note is known here.

    Not if an account is connected: what was deleted there is for its backend to say.
    """
    notebook, account = notebooks.open_notebook(tx, settings)
    if account is None and notebook.get(history.id) is None:
        _put_history(notebook, history)


def _put_history(notebook: Notebook, history: NoteHistory | None) -> int:
    """Add earlier versions of a note unless some are known; return the number of the present."""
    if history is None:
        return 1
    if not notebook.latest_versions([history.id]):
        notebook.put_versions((history.id, version) for version in history.versions)
    return history.local_version or 1


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
        text=require_storable(_keep_other_fields(front, whole, text), f"title of {name}"),
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


def render_history(history: NoteHistory) -> bytes:
    """Render what a note was before as JSON in UTF-8."""
    versions = [
        {
            "local_version": version.local_version,
            "trash": version.content.trash,
            **_render_entry(PortableNote(version.content, history.id)),
        }
        for version in history.versions
    ]
    present: JsonObject = {"local_version": history.local_version}
    if history.local_version is None:
        present = {"deleted": _format_timestamp(history.versions[-1].erased_at or 0.0)}
    whole = {"id": history.id, **present, "versions": versions}
    return f"{json.dumps(whole, ensure_ascii=False, indent=2)}\n".encode()


def parse_history(data: bytes, name: str) -> NoteHistory:
    """Parse the file called `name`. Raises UnreadableNoteFile and InvalidText.

    Whoever wrote the versions is not known here: they are imported.
    """
    try:
        whole: object = json.loads(data.decode())
    except (ValueError, RecursionError):
        whole = None
    entry = cast("JsonObject", whole if isinstance(whole, dict) else {})
    note_id, given, current = _parse_id(entry.get("id")), entry.get("versions"), None
    if note_id is None or not isinstance(given, list):
        raise UnreadableNoteFile(f"{name} is no history of a note")
    erased_at = None
    if "deleted" in entry:
        erased_at = _parse_timestamp(entry["deleted"], 0.0)
    else:
        current = _parse_version(entry.get("local_version"), name)
    versions: list[Version] = []
    for at, one in enumerate(cast("list[Any]", given)):
        place = f"{name}: versions[{at}]"
        note = _parse_entry(one, place, trash=False)
        fields = cast("JsonObject", one)
        content = replace(note.content, trash=fields.get("trash") is True)
        number = _parse_version(fields.get("local_version"), place)
        after = versions[-1].local_version if versions else 0
        if not after < number < (current or MAX_VERSION):
            raise UnreadableNoteFile(f"{place} is out of order")
        versions.append(Version(number, None, "import", content, erased_at))
    return NoteHistory(note_id, current, tuple(versions))


def _parse_version(value: object, name: str) -> int:
    if type(value) is not int or not 1 <= value <= MAX_VERSION:
        raise UnreadableNoteFile(f"{name} has no local_version")
    return value


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


def _keep_other_fields(front: Mapping[str, Any], whole: str, text: str) -> str:
    """Add to a text what its front matter holds and a note has no field for.

    A title becomes the first line unless it is that; of other fields the whole stands above what
    follows the title, as in the file, and what holds no field of a note is no front matter.
    """
    if front and not any(key in _FIELD_TYPES for key in front):
        return whole
    is_kept = all(_is_known(key, value) for key, value in front.items())
    block = "" if is_kept else whole.removeprefix("\ufeff").removesuffix(text)
    given = front.get("title")
    title = " ".join(given.split()) if isinstance(given, str) else ""
    first, _, rest = text.lstrip().partition("\n")
    if title and first.lstrip("#").strip() == title:
        if not block:
            return text
        text = rest if first.startswith("# ") else text
    return f"# {title}\n\n{block}{text}" if title else block + text


def _is_known(key: str, value: object) -> bool:
    """Whether a note keeps this field of front matter, or there is nothing to keep."""
    if value in _NOTHING:
        return True
    if key == "id":
        return _parse_id(value) is not None
    if key in _TIMES and isinstance(value, str):
        return _parse_timestamp(value, math.inf) < math.inf
    return isinstance(value, _FIELD_TYPES.get(key, ()))


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
