"""Every change is one version on, keeps what was there before, and is found by its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.toolsets.notes.models import Content, Notebook
from rolltop.toolsets.notes.service import changes
from rolltop.toolsets.notes.store import reading, versions

if TYPE_CHECKING:
    from rolltop.core.db import Database, Tx
    from rolltop.core.scope import Scope

BOOK = Notebook()


def test_a_change_keeps_what_was_there_before(database: Database, me: Scope) -> None:
    def run(tx: Tx) -> None:
        first = changes.create(tx, BOOK, Content("one", ("a",)), source="local")
        second = changes.change(tx, BOOK, first, Content("two"), source="local")
        assert (first.local_version, second.local_version) == (1, 2)
        assert reading.get(tx, "local", first.id) == second
        old = versions.get(tx, "local", first.id, 1)
        assert old is not None
        assert old.content == Content("one", ("a",))

    database.write_now(me, run)


def test_a_note_that_is_forgotten_and_comes_back_goes_on_counting(
    database: Database, me: Scope
) -> None:
    def run(tx: Tx) -> None:
        backing = changes.Backing("synced", 1)
        note = changes.create(tx, BOOK, Content("one"), source="pull", backing=backing)
        changes.change(tx, BOOK, note, Content("two"), source="pull")
        assert changes.forget_all(tx, BOOK) == 1
        assert reading.get(tx, "local", note.id) is None
        again = changes.New(Content("three"), note.id)
        (back,) = changes.create_all(tx, BOOK, [again], source="pull")
        assert back.local_version == 3
        assert [head.local_version for head in versions.heads(tx, "local", note.id)] == [2, 1]

    database.write_now(me, run)


def test_history_keeps_as_many_versions_as_it_says(database: Database, me: Scope) -> None:
    def run(tx: Tx) -> None:
        for keep, kept in ((1, []), (3, [6, 5]), (0, [6, 5, 4, 3, 2, 1])):
            book = Notebook(history=keep)
            note = changes.create(tx, book, Content("0"), source="local")
            for n in range(6):
                note = changes.change(tx, book, note, Content(str(n)), source="local")
            found = versions.heads(tx, "local", note.id)
            assert [head.local_version for head in found] == kept

    database.write_now(me, run)
