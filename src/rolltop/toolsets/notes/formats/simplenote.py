"""Simplenote's export: one JSON document with the active notes and those in the trash."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from rolltop.core.arguments import storable
from rolltop.core.errors import Invalid
from rolltop.toolsets.notes.formats.portable import (
    NotReadable,
    Portable,
    read_extra,
    read_id,
    read_moment,
    read_texts,
    written_moment,
)
from rolltop.toolsets.notes.models import Content

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rolltop.toolsets.notes.models import JsonObject

_LISTS: Final = {"activeNotes": False, "trashedNotes": True}
_FLAGS: Final = ("markdown", "pinned")
_PUBLISHED_AT: Final = "http://simp.ly/publish/"


def written(notes: Iterable[Portable]) -> bytes:
    """Return the notes as one JSON document in UTF-8."""
    lists: dict[str, list[JsonObject]] = {name: [] for name in _LISTS}
    for note in notes:
        lists["trashedNotes" if note.content.trash else "activeNotes"].append(_entry(note))
    return json.dumps(lists, ensure_ascii=False, indent=2).encode()


def read(data: bytes) -> Iterator[Portable | NotReadable]:
    """Return the notes of a document, and for each entry that is none what is wrong with it.

    Raises NotReadable where the whole is no such document.
    """
    try:
        whole: object = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise NotReadable("The file is not JSON", hint="Choose notes.json of an export.") from None
    if not isinstance(whole, dict) or not any(name in whole for name in _LISTS):
        raise NotReadable(
            "The file is no export of Simplenote: it has neither activeNotes nor trashedNotes",
            hint="Choose notes.json of an export.",
        )
    lists = cast("Mapping[str, Any]", whole)
    for name, is_trash in _LISTS.items():
        entries: object = [] if lists.get(name) is None else lists[name]
        if not isinstance(entries, list):
            raise NotReadable(f"{name} is not a list")
        for at, entry in enumerate(cast("list[object]", entries)):
            yield _read_entry(entry, f"{name}[{at}]", trash=is_trash)


def _entry(note: Portable) -> JsonObject:
    content = note.content
    entry: JsonObject = {
        "id": note.id,
        "content": content.text,
        "creationDate": written_moment(content.created),
        "lastModified": written_moment(content.modified),
    }
    if content.tags:
        entry["tags"] = list(content.tags)
    entry |= {flag: True for flag in _FLAGS if flag in content.system_tags}
    published = content.extra.get("publishURL")
    if isinstance(published, str) and published:
        entry["publicURL"] = f"{_PUBLISHED_AT}{published}"
    if _flagged(entry) != content.system_tags:
        entry["systemTags"] = list(content.system_tags)
    if content.extra:
        entry["extra"] = dict(content.extra)
    return entry


def _read_entry(given: object, name: str, *, trash: bool) -> Portable | NotReadable:
    if not isinstance(given, dict):
        return NotReadable(f"{name} is not an object")
    entry = cast("Mapping[str, Any]", given)
    text = entry.get("content")
    if not isinstance(text, str):
        return NotReadable(f"{name}.content is not text")
    try:
        content = _content(entry, storable(text, f"{name}.content"), name, trash=trash)
        return Portable(content, read_id(entry.get("id")), name)
    except Invalid as error:
        return NotReadable(error.message)


def _content(entry: Mapping[str, Any], text: str, name: str, *, trash: bool) -> Content:
    tags = read_texts(entry.get("tags"), f"{name}.tags")
    shared = read_texts(entry.get("collaboratorEmails"), f"{name}.collaboratorEmails")
    modified = read_moment(entry.get("lastModified"), 0.0)
    named = entry.get("systemTags")
    return Content(
        text=text,
        tags=tuple(dict.fromkeys([*tags, *shared])),
        trash=trash,
        modified=modified,
        created=read_moment(entry.get("creationDate"), modified),
        system_tags=_flagged(entry) if named is None else read_texts(named, f"{name}.systemTags"),
        extra=read_extra(entry.get("extra"), f"{name}.extra"),
    )


def _flagged(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(flag for flag in _FLAGS if entry.get(flag) is True)
