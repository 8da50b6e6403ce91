"""Taking back what an operation did to notes: by a new version of each, as any write."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rolltop.core.accounts import lock_owner
from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.journal.history import Entry
from rolltop.core.journal.undo import CHANGED, GONE, UndoConflict, text_of
from rolltop.core.text.merge import merge_texts
from rolltop.toolsets.notes.clients.note_object import base_object
from rolltop.toolsets.notes.models import LOCAL_ACCOUNT, BackendState, Content, NewNote, Note
from rolltop.toolsets.notes.store.notebooks import (
    Notebook,
    content_of,
    content_values,
    find_account,
)

Fields = dict[str, Any]

_FIELDS: Final = ("account", "trash", "created", "tags", "system_tags", "extra", "content")
_DOCUMENTS: Final = frozenset({"tags", "system_tags", "extra"})


def take_back(app: AppContext, tx: Tx, entries: Sequence[Entry], texts: Mapping[str, str]) -> None:
    """Give the notes that one operation changed their content before it. Raises UndoConflict.

    A note of an account is sent with the next sync. One that the operation made goes for good, or
    into the trash if the backend knows it.
    """
    lock_owner(tx)  # another call may bring the same notes back at this moment
    for entry in reversed(entries):
        _Undo(app, tx, entry, texts).run()


class _Undo:
    """What is to be done to one note."""

    def __init__(self, app: AppContext, tx: Tx, entry: Entry, texts: Mapping[str, str]) -> None:
        self._history: int = app.settings["notes.history"]
        self._tx = tx
        self._entry = entry
        self._texts = texts
        self._before, self._after = self._read_fields("before"), self._read_fields("after")

    def run(self) -> None:
        if not self._after:
            self._put_back()
            return
        note = self._find()
        if note is None:
            raise UndoConflict(self._entry.thing, GONE)
        notebook = self._notebook(note.account)
        if self._before:
            target = self._merge(note)
        elif _differs(note, self._after):
            raise UndoConflict(self._entry.thing, CHANGED)
        elif note.account == LOCAL_ACCOUNT or note.server_version is None:
            notebook.erase(note)
            return
        else:
            target = replace(note.content, trash=True)
        if target != note.content:
            target = replace(target, modified=self._tx.now.timestamp())
            notebook.write(note, target, source="restore", backend=_unsent(note))

    def _put_back(self) -> None:
        """Make a note again that the operation deleted for good."""
        note = self._find()
        if note is not None:
            if _differs(note, self._before):
                raise UndoConflict(self._entry.thing, CHANGED)
            return  # the backend had it still
        account = self._before["account"]
        content = content_of({**self._before, "modified": self._tx.now.timestamp()})
        state = BackendState("local" if account == LOCAL_ACCOUNT else "pending")
        new = NewNote(content, self._entry.ref, state)
        self._notebook(account).create([new], source="restore")

    def _merge(self, note: Note) -> Content:
        """Return the note's content without what the operation changed."""
        current = _fields_of(note)
        for name, before in self._before.items():
            after = self._after[name]
            if name == "account":
                continue  # a note stays where it was moved
            if current[name] == after:
                current[name] = before
            elif current[name] != before:
                merged = None
                if name == "content":
                    merged = merge_texts(after, current[name], before)
                if merged is None:
                    raise UndoConflict(self._entry.thing, CHANGED)
                current[name] = merged
        return content_of(current)

    def _find(self) -> Note | None:
        """Return the note as it is, in whichever account."""
        account = find_account(self._tx, self._entry.ref)
        return None if account is None else self._notebook(account).lock(self._entry.ref)

    def _notebook(self, account: str) -> Notebook:
        return Notebook(self._tx, account, self._history)

    def _read_fields(self, side: str) -> Fields:
        """Return what the entry says of the note before or after, as Python has it."""
        found: Fields = {}
        for change in self._entry.changes:
            for name, value in dict[str, Any](change[side] or ()).items():
                if name in _FIELDS:
                    found[name] = self._read_value(name, value)
        return found

    def _read_value(self, name: str, value: Any) -> Any:  # noqa: ANN401  # a column's value
        value = text_of(self._entry.thing, value, self._texts)
        if name == "trash":
            return bool(value)
        return json.loads(value) if name in _DOCUMENTS else value


def _unsent(note: Note) -> BackendState | None:
    """Return the backend state of a note that is to be sent; None for one of no backend."""
    if note.account == LOCAL_ACCOUNT:
        return None
    return BackendState("pending", note.server_version, base_object(note))


def _differs(note: Note, fields: Fields) -> bool:
    return any(_fields_of(note)[name] != value for name, value in fields.items())


def _fields_of(note: Note) -> Fields:
    return {"account": note.account, **content_values(note.content)}
