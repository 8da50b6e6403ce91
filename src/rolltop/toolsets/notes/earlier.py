"""Notes as they were, from the journal: also versions that their own history no longer has."""

from __future__ import annotations

from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.journal.snapshot import EarlierThing, JournalSnapshot
from rolltop.core.times import moment_of
from rolltop.toolsets.notes.store.notebooks import map_accounts, open_notebook
from rolltop.toolsets.notes.store.tables import note_texts, notes


def read_earlier(
    app: AppContext, tx: Tx, snapshot: JournalSnapshot, kind: str, ref: str | None = None
) -> dict[str, EarlierThing | None]:
    """Map notes to what they were; None is one that was not there (`Toolset.earlier`)."""
    refs = snapshot.changed_ids(kind) if ref is None else {ref}
    notebook, _account = open_notebook(tx, app.settings)
    every = snapshot.rows(notes.c.id, refs)
    # An account may have adopted a note since: then it counts where it is.
    now = map_accounts(tx, [row["number"] for row in every])
    rows = [row for row in every if now.get(row["number"], row["account"]) == notebook.account]
    numbers = [row["number"] for row in rows]
    texts = {row["number"]: row["content"] for row in snapshot.rows(note_texts.c.number, numbers)}
    found: dict[str, EarlierThing | None] = dict.fromkeys(refs)
    for row in rows:
        modified = moment_of(row["modified"])
        found[row["id"]] = EarlierThing(
            snapshot.version(kind, row["id"], row["local_version"]),
            "",
            texts[row["number"]],
            min(modified, snapshot.moment.at),
            tuple(row["tags"]),
            row["trash"],
            fields={"tags": row["tags"]},
        )
    return found
