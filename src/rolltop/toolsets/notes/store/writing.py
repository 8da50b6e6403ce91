"""Writes of notes with their tags and their words in the index."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import bindparam, delete, insert, update

from rolltop.core.db.prepared import Prepared
from rolltop.core.db.types import CodePointString, Identifier
from rolltop.core.search import wholes
from rolltop.toolsets.notes.models import TITLE_LENGTH, Note
from rolltop.toolsets.notes.store.reading import mine
from rolltop.toolsets.notes.store.tables import note_tags, note_texts, notes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import BindParameter, Table

    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Content

_LOOKED_AT: Final = 10_000  # code points in which a title is looked for


def add(tx: Tx, made: Sequence[Note]) -> list[Note]:
    """Return the notes with the numbers they got, kept; their own numbers don't count."""
    numbers = wholes.add(tx, [note.text for note in made])
    kept = [replace(note, number=number) for note, number in zip(made, numbers, strict=True)]
    if kept:
        _ADD.run_each(tx, [_row(tx, note) for note in kept])
        _ADD_TEXTS.run_each(tx, [_text(tx, note) for note in kept])
        _add_tags(tx, kept)
    return kept


def put(tx: Tx, note: Note, before: Note) -> None:
    """Keep a note in place of what it was before."""
    old = _row(tx, before)
    changed = {name: value for name, value in _row(tx, note).items() if value != old[name]}
    if changed:
        one = {"owner": tx.scope.user_id, "in_account": note.account, "it": note.number}
        _put(tuple(changed)).run(tx, {**one, **changed})
    if (note.text, note.base) != (before.text, before.base):
        _put_text(tx, note, before)
    if note.content.tags != before.content.tags:
        _DROP_TAGS.run(tx, {"owner": tx.scope.user_id, "it": note.number})
        _add_tags(tx, [note])
    if note.text != before.text:
        wholes.replace(tx, note.number, note.text)


def remove(tx: Tx, account: str, numbers: Sequence[int]) -> None:
    """Take notes away, with their tags and words; their versions stay."""
    wholes.remove(tx, numbers)
    tx.execute(delete(notes).where(*mine(tx, account), notes.c.number.in_(numbers)))


def folded(tag: str) -> str:
    """Return a tag as it is looked for: its case and the way it is composed don't count."""
    return unicodedata.normalize("NFC", tag).casefold()


def title_of(text: str) -> str:
    """Return the first line that is not blank, trimmed, of at most 80 characters; "" for none."""
    start = text[:_LOOKED_AT].removeprefix("\ufeff").lstrip()
    line = start.splitlines()[0].rstrip() if start else ""
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1] + "…"


def columns_of(content: Content) -> dict[str, Any]:
    """Return what a content but its text fills of a row of a note or of a version."""
    return {
        "trash": content.trash,
        "modified": content.modified,
        "created": content.created,
        "tags": list(content.tags),
        "system_tags": list(content.system_tags),
        "extra": dict(content.extra),
    }


def _row(tx: Tx, note: Note) -> dict[str, Any]:
    return {
        "number": note.number,
        "user_id": tx.scope.user_id,
        "account": note.account,
        "id": note.id,
        "local_version": note.local_version,
        "server_version": note.server_version,
        "sync_state": note.sync_state,
        "source": note.source,
        "title": title_of(note.text),
        **columns_of(note.content),
    }


def _text(tx: Tx, note: Note) -> dict[str, Any]:
    kept = None if note.base is None else dict(note.base)
    number = {"number": note.number, "user_id": tx.scope.user_id}
    return {**number, "content": note.text, "base": kept}


def _put_text(tx: Tx, note: Note, before: Note) -> None:
    values = _text(tx, note)
    changed = {name: values[name] for name in ("content", "base")}
    if note.text == before.text:
        del changed["content"]
    one = {"owner": tx.scope.user_id, "it": note.number}
    _changed_text(tuple(changed)).run(tx, {**one, **changed})


def _add_tags(tx: Tx, tagged: Iterable[Note]) -> None:
    rows = [
        {"number": note.number, "tag": tag, "user_id": tx.scope.user_id}
        for note in tagged
        for tag in sorted({folded(tag) for tag in note.content.tags})
    ]
    _ADD_TAGS.run_each(tx, rows)


@cache
def _put(columns: tuple[str, ...]) -> Prepared:
    """Return what changes these columns of a note."""
    mine = (notes.c.user_id == _OWNER, notes.c.account == bindparam("in_account", type_=_TEXT))
    changed = update(notes).where(*mine, notes.c.number == bindparam("it"))
    return Prepared(changed.values({name: _value(notes, name) for name in columns}))


@cache
def _changed_text(columns: tuple[str, ...]) -> Prepared:
    """Return what changes these columns of a note's text."""
    c = note_texts.c
    changed = update(note_texts).where(c.user_id == _OWNER, c.number == bindparam("it"))
    return Prepared(changed.values({name: _value(note_texts, name) for name in columns}))


def _value(table: Table, name: str) -> BindParameter[Any]:
    return bindparam(name, type_=table.c[name].type)


_OWNER: Final = bindparam("owner", type_=Identifier)
_TEXT: Final = CodePointString()
_ADD: Final = Prepared(insert(notes))
_ADD_TEXTS: Final = Prepared(insert(note_texts))
_ADD_TAGS: Final = Prepared(insert(note_tags))
_DROP_TAGS: Final = Prepared(
    delete(note_tags).where(note_tags.c.user_id == _OWNER, note_tags.c.number == bindparam("it"))
)
