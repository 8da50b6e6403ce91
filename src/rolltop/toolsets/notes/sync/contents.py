"""What two contents of one note have in common, and what they become together."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.text.merge import merge, merge_sets

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.toolsets.notes.models import Content

CONFLICT_TAG: Final = "conflict"
CONFLICT_KEY: Final = "conflictOf"
"""The key of a conflict copy's object that names the note it was a part of."""

_COPIES: Final = uuid.UUID("6f1a0c57-6d55-4f0e-9a57-5c3f0f4c7f11")
_PUBLIC_TAGS: Final = frozenset({"published", "shared"})
_PUBLIC_KEYS: Final = frozenset({"publishURL", "shareURL"})


def says_the_same(one: Content, other: Content) -> bool:
    """Whether two contents differ in their dates at most."""
    return replace(one, modified=other.modified, created=other.created) == other


def together(base: Content, ours: Content, theirs: Content) -> Content | None:
    """Return the content with the changes of both; None where their lines clash.

    A note that one side put into the trash while the other changed its text stays outside.
    """
    text = merge(base.text, ours.text, theirs.text)
    if text is None:
        return None
    trash = theirs.trash if ours.trash == base.trash else ours.trash
    if trash and not base.trash and base.text not in (ours.text, theirs.text):
        trash = False
    elif trash and not base.trash:
        trash = not _edited_elsewhere(base, ours, theirs)
    return replace(
        theirs,
        text=text,
        tags=tuple(merge_sets(base.tags, ours.tags, theirs.tags)),
        system_tags=tuple(merge_sets(base.system_tags, ours.system_tags, theirs.system_tags)),
        trash=trash,
        modified=max(ours.modified, theirs.modified),
        extra=_merged_keys(base.extra, ours.extra, theirs.extra),
    )


def includes(base: Content, ours: Content, theirs: Content) -> bool:
    """Whether `theirs` has what `ours` changed of `base`, by lines and tags, among other changes.

    Asked only of a change that may have arrived, so that it is not made a second time.
    """
    if ours == base or theirs.trash != ours.trash:
        return False
    was, wanted, there = (Counter(side.text.split("\n")) for side in (base, ours, theirs))
    has_lines = all(there[line] >= wanted[line] for line in wanted - was)
    lacks_lines = all(there[line] <= wanted[line] for line in was - wanted)
    added, dropped = set(ours.tags) - set(base.tags), set(base.tags) - set(ours.tags)
    return has_lines and lacks_lines and added <= set(theirs.tags) - dropped


def overwrites(base: Content, theirs: Content, merged: Content) -> bool:
    """Whether a merge left out lines that `theirs` had put into `base`."""
    was, wanted, there = (Counter(side.text.split("\n")) for side in (base, theirs, merged))
    return any(line.strip() and there[line] < wanted[line] for line in wanted - was)


def conflict_copy(note_id: str, ours: Content) -> tuple[str, Content]:
    """Return id and content of the note that keeps what could not be merged.

    The id follows from the note and the text, so that one clash never leads to two copies. A
    copy is neither published nor shared.
    """
    digest = hashlib.sha256(ours.text.encode()).hexdigest()
    tags = tuple(dict.fromkeys([*ours.tags, CONFLICT_TAG]))
    extra = {key: value for key, value in ours.extra.items() if key not in _PUBLIC_KEYS}
    content = replace(
        ours,
        tags=tags,
        system_tags=tuple(tag for tag in ours.system_tags if tag not in _PUBLIC_TAGS),
        extra={**extra, CONFLICT_KEY: note_id},
    )
    return str(uuid.uuid5(_COPIES, f"{note_id}:{digest}")), content


def _edited_elsewhere(base: Content, ours: Content, theirs: Content) -> bool:
    """Whether the side that did not put the note into the trash changed its text."""
    other = theirs if ours.trash else ours
    return not other.trash and other.text != base.text


def _merged_keys(
    base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """Return unknown keys: what was changed here, else what the backend says."""
    merged = dict(theirs)
    for key in {*base, *ours}:
        if key in ours and ours[key] != base.get(key) and theirs.get(key) == base.get(key):
            merged[key] = ours[key]
        elif key in base and key not in ours and theirs.get(key) == base.get(key):
            merged.pop(key, None)
    return merged
