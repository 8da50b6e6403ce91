"""A note as a Markdown file: front matter between two lines of dashes, then the text as it is.

What is written here has one JSON value a line, which is YAML too; of other programs any YAML is
read.
"""

from __future__ import annotations

import json
import re
import unicodedata
import uuid
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

from rolltop.core.arguments import storable
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
    from collections.abc import Mapping

    from rolltop.toolsets.notes.models import JsonObject

_FRONT: Final = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_NAME: Final = re.compile(r"[^\w]+")
_LONGEST_NAME: Final = 60
_LONGEST_FRONT: Final = 1 << 20
_CREATED: Final = ("created", "date", "created_at")
_MODIFIED: Final = ("modified", "updated", "updated_at", "modified_at")


def file_name(note: Portable) -> str:
    """Return a name that tells the title; notes may share one, whatever their ids."""
    lines = (line.strip() for line in note.content.text.lstrip("\ufeff").splitlines())
    title = next(filter(None, lines), "")
    plain = unicodedata.normalize("NFKC", title)[: 4 * _LONGEST_NAME]
    return _NAME.sub("-", plain).strip("-")[:_LONGEST_NAME].rstrip("-") or "note"


def written(note: Portable) -> bytes:
    """Return the file of a note, in UTF-8."""
    content = note.content
    front: JsonObject = {
        "id": note.id,
        "created": written_moment(content.created),
        "modified": written_moment(content.modified),
        "tags": list(content.tags),
    }
    if content.trash:
        front["trash"] = True
    if content.system_tags:
        front["system_tags"] = list(content.system_tags)
    if content.extra:
        front["extra"] = dict(content.extra)
    lines = (f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in front.items())
    return f"---\n{''.join(lines)}---\n{content.text}".encode()


def read(data: bytes, name: str, file_modified: float) -> Portable:
    """Return the note of a file called `name`. Raises NotReadable and InvalidText.

    A file without an id gets one that is the same whenever it is read unchanged; one without
    dates has those of the file.
    """
    try:
        whole = storable(data.decode(), name)
    except UnicodeDecodeError:
        raise NotReadable(f"{name} is not UTF-8 text") from None
    found = _FRONT.match(whole.removeprefix("\ufeff")) if len(whole) else None
    front: Mapping[str, Any] = {}
    text = whole
    if found is not None and len(found[1]) <= _LONGEST_FRONT:
        front = _front(found[1], name)
        text = whole.removeprefix("\ufeff")[found.end() :]
    modified = _moment(front, _MODIFIED, file_modified)
    content = Content(
        text=text,
        tags=read_texts(front.get("tags"), f"tags of {name}"),
        trash=front.get("trash") is True,
        modified=modified,
        created=_moment(front, _CREATED, modified),
        system_tags=read_texts(front.get("system_tags"), f"system_tags of {name}"),
        extra=read_extra(front.get("extra"), f"extra of {name}"),
    )
    own = uuid.uuid5(uuid.NAMESPACE_URL, f"{name}\n{whole}")
    return Portable(content, read_id(front.get("id")) or str(own), name)


def _front(text: str, name: str) -> Mapping[str, Any]:
    """Return the values of front matter; none where it is no mapping."""
    try:
        pairs = (line.split(": ", 1) for line in text.split("\n") if line.strip())
        return {key: json.loads(value) for key, value in pairs}
    except (ValueError, RecursionError):
        pass  # another program wrote it
    try:
        values: object = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise NotReadable(f"The front matter of {name} is not YAML") from None
    return cast("Mapping[str, Any]", values) if isinstance(values, dict) else {}


def _moment(front: Mapping[str, Any], names: tuple[str, ...], otherwise: float) -> float:
    given = next((front[name] for name in names if front.get(name) is not None), None)
    return read_moment(given, otherwise)
