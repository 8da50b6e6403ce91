"""Saves: what a note would say is planned first, then kept; nothing in between is written.

With a backend, the plan is made in one transaction and kept in a later one, once the backend has
it: see `remote`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rolltop.core.errors import Invalid
from rolltop.core.text import patch
from rolltop.toolsets.notes.models import (
    GUARDED_LENGTH,
    GUARDED_SHARE,
    Content,
    Note,
    Notebook,
    Save,
    Saved,
)
from rolltop.toolsets.notes.service import changes, checks
from rolltop.toolsets.notes.service.checks import Clash
from rolltop.toolsets.notes.service.reading import missing
from rolltop.toolsets.notes.store import reading, versions

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from rolltop.toolsets.notes.models import Source
    from rolltop.toolsets.notes.service.checks import Stretches


@dataclass(frozen=True)
class Plan:
    """What a save would make of a note.

    `before` is None for a new one, which may have an id that was there before.
    """

    before: Note | None
    content: Content
    id: str | None = None
    moved: tuple[tuple[int, int], ...] | None = None

    @property
    def changes_something(self) -> bool:
        """Whether there is anything to write."""
        return self.before is None or self.content != self.before.content


def save(tx: Tx, notebook: Notebook, asked: Save) -> Saved:
    """Return the note as it was saved. Raises as `plan` does."""
    return keep(tx, notebook, plan(tx, notebook, asked))


def plan(tx: Tx, notebook: Notebook, asked: Save) -> Plan:
    """Return what a save would make; the note's row is locked where the transaction writes.

    Raises:
        Invalid: the arguments do not go together, or do not fit the note.
        NotFound: there is no such note.
        Conflict: the note changed since, in a place that the save changes too.

    """
    checks.save(asked)
    tags = None if asked.tags is None else checks.tags(asked.tags)
    asked = replace(asked, tags=tags)
    if asked.id is None:
        moment = tx.now.timestamp()
        content = Content(asked.text or "", tags or (), bool(asked.trash), moment, moment)
        return Plan(None, content)
    note = reading.hold(tx, notebook.account, checks.identifier(asked.id))
    if note is None:
        raise missing(tx, notebook, asked.id)
    planned = _patched(tx, notebook, note, asked)
    _guard(note, planned.content.text, asked)
    return planned


def keep(
    tx: Tx,
    notebook: Notebook,
    planned: Plan,
    *,
    source: Source = "local",
    backing: changes.Backing | None = None,
) -> Saved:
    """Return the note as a plan made in this transaction left it."""
    if planned.before is None:
        known = backing or changes.UNKNOWN
        made = changes.New(planned.content, planned.id, known)
        return Saved(changes.create_all(tx, notebook, [made], source=source)[0])
    if not planned.changes_something:
        return Saved(planned.before, planned.moved)
    note = changes.change(
        tx, notebook, planned.before, planned.content, source=source, backing=backing
    )
    return Saved(note, planned.moved)


def _patched(tx: Tx, notebook: Notebook, note: Note, asked: Save) -> Plan:
    """Return the plan for a note that is there."""
    version = asked.local_version or 0
    if asked.server_version is not None and asked.server_version != note.server_version:
        stored = "none" if note.server_version is None else note.server_version
        raise _clash(note, asked, f"server_version is {asked.server_version}, stored is {stored}")
    if asked.patch is None:
        if version != note.local_version:
            raise _clash(note, asked, f"local_version is {version}")
        return _planned(tx, note, asked, asked.text or "")
    if version == note.local_version:
        return _planned(tx, note, asked, _applied(note.text, asked.patch))
    return _rebased(tx, notebook, note, asked, asked.patch)


def _rebased(
    tx: Tx, notebook: Notebook, note: Note, asked: Save, given: tuple[patch.Change, ...]
) -> Plan:
    """Return the plan of a patch for an earlier version, moved to the present one."""
    version = asked.local_version or 0
    if not 1 <= version < note.local_version:
        raise _refused_patch(note, asked, ", which the note never had")
    base = versions.get(tx, notebook.account, note.id, version)
    if base is None:
        raise _refused_patch(note, asked, ", which is not kept")
    try:
        patch.check(base.content.text, given)
    except patch.PatchError as error:
        raise checks.wrong_patch(str(error)) from None
    moved = patch.rebase(base.content.text, note.text, given)
    now, then = note.content, base.content
    if (
        moved is None
        or (asked.tags is not None and now.tags not in (then.tags, asked.tags))
        or (asked.trash is not None and now.trash not in (then.trash, asked.trash))
    ):
        lines = patch.at_stake(base.content.text, note.text, given)
        raise _refused_patch(note, asked, " and touches what changed since", lines)
    text = _applied(note.text, moved.changes)
    return replace(_planned(tx, note, asked, text), moved=moved.lines)


def _refused_patch(note: Note, asked: Save, why: str, lines: Stretches | None = None) -> Clash:
    return _clash(note, asked, f"The patch is for local_version {asked.local_version}{why}", lines)


def _clash(note: Note, asked: Save, why: str, lines: Stretches | None = None) -> Clash:
    """Return the conflict of a save; without `lines` a patch is about those that it names."""
    if lines is None and asked.patch:
        lines = tuple((line, line) for line in sorted({change.line for change in asked.patch}))
    return Clash(note, why, _yours(asked), lines)


def _yours(asked: Save) -> dict[str, Any]:
    """Return what a save that is refused asked for, for the details of its conflict."""
    shown = asked.patch and [
        {"op": change.operation, "ln": change.line, "val": change.value} for change in asked.patch
    ]
    tags = None if asked.tags is None else list(asked.tags)
    yours = {"text": asked.text, "patch": shown, "tags": tags, "trash": asked.trash}
    return {f"your_{name}": value for name, value in yours.items() if value is not None}


def _planned(tx: Tx, note: Note, asked: Save, text: str) -> Plan:
    old = note.content
    tags = old.tags if asked.tags is None else asked.tags
    content = replace(
        old, text=text, tags=tags, trash=old.trash if asked.trash is None else asked.trash
    )
    if (text, tags) != (old.text, old.tags):
        content = replace(content, modified=tx.now.timestamp())
    return Plan(note, content)


def _applied(text: str, given: tuple[patch.Change, ...]) -> str:
    try:
        return patch.apply(text, given)
    except patch.PatchError as error:
        raise checks.wrong_patch(str(error)) from None


def _guard(note: Note, text: str, asked: Save) -> None:
    """Refuse to make little of a long note unless that is confirmed."""
    before, after = len(note.text), len(text)
    if before > GUARDED_LENGTH and after * GUARDED_SHARE < before and not asked.confirm_shrink:
        other = "To change some lines send text_patch. " if asked.patch is None else ""
        raise Invalid(
            f"The save would shrink the note from {before} to {after} characters; "
            "nothing was written",
            code="SHRINK_NOT_CONFIRMED",
            hint=f"{other}If the rest is to go, call again with confirm_shrink true.",
        )
