"""Every change is one version on, keeps what was there before, and is found by its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.notes.models import BackendState, Content, NewNote
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from rolltop.core.principal import Principal


def test_a_change_keeps_what_was_there_before(database: Database, me: Principal) -> None:
    def run(tx: Tx) -> None:
        book = Notebook(tx)
        (first,) = book.create([NewNote(Content("one", ("a",)))], source="local")
        second = book.write(first, Content("two"), source="local")
        assert (first.local_version, second.local_version) == (1, 2)
        assert book.get(first.id) == second
        old = book.get_version(first.id, 1)
        assert old is not None
        assert old.content == Content("one", ("a",))

    database.write_sync(me, run)


def test_a_note_that_is_forgotten_and_comes_back_goes_on_counting(
    database: Database, me: Principal
) -> None:
    def run(tx: Tx) -> None:
        book = Notebook(tx)
        new = NewNote(Content("one"), backend=BackendState("synced", 1))
        (note,) = book.create([new], source="pull")
        book.write(note, Content("two"), source="pull")
        assert book.drop_copies() == 1
        assert book.get(note.id) is None
        (back,) = book.create([NewNote(Content("three"), note.id)], source="pull")
        assert back.local_version == 3
        assert [head.local_version for head in book.list_versions(note.id)] == [2, 1]

    database.write_sync(me, run)


def test_history_keeps_as_many_versions_as_it_says(database: Database, me: Principal) -> None:
    def run(tx: Tx) -> None:
        for keep, kept in ((1, []), (3, [6, 5]), (0, [6, 5, 4, 3, 2, 1])):
            book = Notebook(tx, history=keep)
            (note,) = book.create([NewNote(Content("0"))], source="local")
            for n in range(6):
                note = book.write(note, Content(str(n)), source="local")
            found = book.list_versions(note.id)
            assert [head.local_version for head in found] == kept

    database.write_sync(me, run)
