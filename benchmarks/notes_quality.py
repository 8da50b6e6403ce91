"""How often a natural question finds its note: passages kept as notes, ten to a note."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from benchmarks import stores
from benchmarks.measure import Table
from benchmarks.search_pairs import testing_sets, tuning_sets
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets.notes import TOOLSET, note_list
from rolltop.toolsets.notes.models import Content, ListQuery, NewNote, NotePageRequest
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from benchmarks.search_pairs import PairSet
    from rolltop.core.db import Tx

PASSAGES: Final = 10
"""Passages of one note, of which the first three are asked for."""
ASKED: Final = 3
NEAR: Final = 5
QUESTIONS: Final = (
    "What did we say about {}?",
    "When did you tell me how to {}?",
    "Which one was it that would {}?",
)
_HOW: Final = (
    "100 notes a set, each of ten passages of installed packages, asked for three of them by "
    "words that stand beside the passages, not in them; on SQLite."
)


def tables() -> list[Table]:
    """Return the table of notes found by questions."""
    rows = [_row(pairs) for pairs in (*testing_sets(), *tuning_sets())]
    header = ("set", "questions", "nothing found", "first", "in the first 5")
    return [Table("notes: found by questions", _HOW, header, rows)]


def _row(pairs: PairSet) -> tuple[str, ...]:
    shuffled = random.Random(1).sample(pairs.pairs, len(pairs.pairs))  # noqa: S311  # no secret
    notes = [shuffled[at : at + PASSAGES] for at in range(0, len(shuffled), PASSAGES)]

    def fill(tx: Tx) -> None:
        texts = ["\n\n".join(pair.document for pair in passages) for passages in notes]
        new = [
            NewNote(Content(text, modified=1e9 + number), str(number))
            for number, text in enumerate(texts)
        ]
        Notebook(tx).create(new, source="import")

    settings = Settings.defaults([*CORE_SETTINGS, *TOOLSET.settings])
    places: list[int | None] = []
    with tempfile.TemporaryDirectory() as folder:
        database, scope = stores.opened(Path(folder))
        database.write_sync(scope, fill)
        for number, passages in enumerate(notes):
            for at, pair in enumerate(passages[:ASKED]):
                asked = QUESTIONS[at].format(pair.query.lower().rstrip("."))
                page = database.read_sync(
                    scope,
                    note_list.list_notes,
                    settings,
                    ListQuery(asked),
                    NotePageRequest(limit=NEAR),
                )
                found = [str(item["id"]) for item in page.items] or [""]
                right = found.index(str(number)) if str(number) in found else None
                places.append(-1 if found == [""] else right)
        database.close()
    shares = (places.count(-1), places.count(0), sum(place in range(NEAR) for place in places))
    return (pairs.name, str(len(places)), *(f"{share / len(places):.3f}" for share in shares))
