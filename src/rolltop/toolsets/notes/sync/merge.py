"""How two states of one note become one: pure decisions, no storage and no network."""

from __future__ import annotations

import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.text.merge import merge_sets, merge_texts
from rolltop.toolsets.notes.clients.note_object import parse_content
from rolltop.toolsets.notes.models import (
    CONFLICT_KEY,
    CONFLICT_TAG,
    LOCAL_STATE,
    BackendState,
    Content,
    Note,
    Source,
    Version,
    is_cut,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.clients.backend import RemoteNote

_COPY_ID_NAMESPACE: Final = uuid.UUID("6f1a0c57-6d55-4f0e-9a57-5c3f0f4c7f11")
_PUBLIC_TAGS: Final = frozenset({"published", "shared"})
_PUBLIC_KEYS: Final = frozenset({"publishURL", "shareURL"})
_LOCAL_SOURCES: Final = frozenset({"local", "merge", "restore", "import", "conflict"})
_MIN_DESTRUCTIVE_LIMIT: Final = 10
_DESTRUCTIVE_DIVISOR: Final = 10


@dataclass(frozen=True)
class MergeDecision:
    """The next content of a note, and what is known of it at the backend.

    `seen`: the backend's content, which becomes a version before that. `copy`: the content that
    continues as a conflict copy.
    """

    content: Content
    backend: BackendState
    source: Source = "pull"
    seen: Content | None = None
    copy: Content | None = None


def reconcile(note: Note, remote: RemoteNote, versions: Iterable[Version]) -> MergeDecision | None:
    """Decide what becomes of a note that is `remote` at the backend; None: it stays.

    `versions` are the note's earlier ones, newest first. A version before the known one means that
    the backend itself went back, as one restored from a backup does. The note is sent again if it
    was made from what is there; if not, or if a known version changed, both are kept. A change that
    waits is united with another note of the same text.
    """
    theirs = remote.content
    is_synced = note.sync_state == "synced"
    if is_same_content(note.content, theirs):
        if is_synced and note.server_version == remote.version and note.content == theirs:
            return None
        return MergeDecision(theirs, BackendState("synced", remote.version))
    went_back = note.server_version is not None and remote.version < note.server_version
    if went_back and any(is_same_content(version.content, theirs) for version in versions):
        return MergeDecision(note.content, _unsent_state(note, remote))
    # What was gone there, and came back, nobody touched here.
    if not (is_synced or note.sync_state == "local"):
        if went_back:  # what is there was not made from the base
            note = replace(note, backend=replace(note.backend, base=None))
        return _rebase_local(note, remote, versions)
    if note.server_version is None or remote.version > note.server_version:
        return MergeDecision(theirs, BackendState("synced", remote.version))
    return _keep_both(note.content, remote)


def decide_vanished(note: Note) -> MergeDecision:
    """Decide what becomes of a note that is not at the backend any more.

    What was changed here is sent again as a new note; else the note goes into the trash.
    """
    if note.sync_state in {"pending", "conflict"}:
        return MergeDecision(note.content, BackendState("pending"))
    return MergeDecision(replace(note.content, trash=True), LOCAL_STATE)


def is_same_content(one: Content, other: Content) -> bool:
    """Whether two contents differ in their dates at most."""
    return replace(one, modified=other.modified, created=other.created) == other


def includes_changes(base: Content, ours: Content, theirs: Content) -> bool:
    """Whether `theirs` has what `ours` changed of `base`, by lines and tags, among other changes.

    Asked only of a change that may have arrived, so that it is not made a second time. If lines
    were only moved, nothing shows that they were.
    """
    if ours == base or theirs.trash != ours.trash:
        return False
    was, wanted, there = (Counter(side.text.split("\n")) for side in (base, ours, theirs))
    if was == wanted and ours.text not in {base.text, theirs.text}:
        return False
    has_lines = all(there[line] >= wanted[line] for line in wanted - was)
    lacks_lines = all(there[line] <= wanted[line] for line in was - wanted)
    tags = merge_sets(base.tags, ours.tags, theirs.tags)
    system_tags = merge_sets(base.system_tags, ours.system_tags, theirs.system_tags)
    has_tags = set(tags) == set(theirs.tags) and set(system_tags) == set(theirs.system_tags)
    has_keys = _merge_keys(base.extra, ours.extra, theirs.extra) == theirs.extra
    return has_lines and lacks_lines and has_tags and has_keys


def loses_changes(base: Content, theirs: Content, merged: Content) -> bool:
    """Whether a merge left out lines that `theirs` had put into `base`."""
    was, wanted, there = (Counter(side.text.split("\n")) for side in (base, theirs, merged))
    return any(line.strip() and there[line] < wanted[line] for line in wanted - was)


def conflict_copy(note_id: str, ours: Content) -> tuple[str, Content]:
    """Make id and content of the note that keeps what could not be merged.

    The id follows from note and text, so that one conflict never leads to two copies. A copy is
    neither published nor shared.
    """
    digest = hashlib.sha256(ours.text.encode()).hexdigest()
    extra = {key: value for key, value in ours.extra.items() if key not in _PUBLIC_KEYS}
    content = replace(
        ours,
        tags=tuple(dict.fromkeys([*ours.tags, CONFLICT_TAG])),
        system_tags=tuple(tag for tag in ours.system_tags if tag not in _PUBLIC_TAGS),
        extra={**extra, CONFLICT_KEY: note_id},
    )
    return str(uuid.uuid5(_COPY_ID_NAMESPACE, f"{note_id}:{digest}")), content


def is_destructive(before: Content, after: Content) -> bool:
    """Whether a change puts a note into the trash, or cuts it to under a fifth."""
    return (after.trash and not before.trash) or is_cut(len(before.text), len(after.text))


def max_destructive_changes(notes: int) -> int:
    """How many of so many notes one sync may trash or cut without being asked."""
    return max(_MIN_DESTRUCTIVE_LIMIT, notes // _DESTRUCTIVE_DIVISOR)


def _rebase_local(
    note: Note, remote: RemoteNote, versions: Iterable[Version]
) -> MergeDecision | None:
    """Decide for a note with changes that the backend does not have."""
    ours, theirs = note.content, remote.content
    base = None if note.base is None else parse_content(note.base)
    if (base is not None and is_same_content(base, theirs)) or _was_unsent(
        note, base, theirs, versions
    ):
        if note.server_version == remote.version and note.base == remote.data:
            return None
        return MergeDecision(ours, _unsent_state(note, remote))
    if base is None and ours.text == theirs.text:
        base = Content(ours.text, trash=theirs.trash)
    merged = None if base is None else _merge_contents(base, ours, theirs)
    if merged is None:
        return _keep_both(ours, remote)
    if is_same_content(merged, theirs):
        return MergeDecision(theirs, BackendState("synced", remote.version))
    pending = BackendState("pending", remote.version, remote.data)
    return MergeDecision(merged, pending, source="merge", seen=theirs)


def _unsent_state(note: Note, remote: RemoteNote) -> BackendState:
    """Return the state of a note that is to be sent as made from what the backend has."""
    state = "conflict" if note.sync_state == "conflict" else "pending"
    return BackendState(state, remote.version, remote.data)


def _was_unsent(
    note: Note, base: Content | None, content: Content, versions: Iterable[Version]
) -> bool:
    """Whether the note had this content here since it was last as the backend has it."""
    if note.source not in _LOCAL_SOURCES:
        return False
    for version in versions:
        is_base = base is not None and is_same_content(version.content, base)
        if version.source not in _LOCAL_SOURCES or is_base:
            return False
        if is_same_content(version.content, content):
            return True
    return False


def _keep_both(ours: Content, remote: RemoteNote) -> MergeDecision:
    """Let the note be what the backend has, and ours continue as a copy."""
    copy = ours if ours.text.strip() and ours.text != remote.content.text else None
    return MergeDecision(remote.content, BackendState("synced", remote.version), copy=copy)


def _merge_contents(base: Content, ours: Content, theirs: Content) -> Content | None:
    """Merge the changes of both sides; None if their lines conflict.

    A note that one side put into the trash while the other changed its text stays outside.
    """
    text = merge_texts(base.text, ours.text, theirs.text)
    if text is None:
        return None
    trash = theirs.trash if ours.trash == base.trash else ours.trash
    if trash and not base.trash:
        kept = theirs if ours.trash else ours
        is_edited = base.text not in (ours.text, theirs.text)
        trash = not is_edited and (kept.trash or kept.text == base.text)
    return replace(
        theirs,
        text=text,
        tags=tuple(merge_sets(base.tags, ours.tags, theirs.tags)),
        system_tags=tuple(merge_sets(base.system_tags, ours.system_tags, theirs.system_tags)),
        trash=trash,
        modified=max(ours.modified, theirs.modified),
        extra=_merge_keys(base.extra, ours.extra, theirs.extra),
    )


def _merge_keys(
    base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, Any]:
    """Merge unknown keys: what was changed here, else what the backend says."""
    merged = dict(theirs)
    for key in {*base, *ours}:
        if key in ours and ours[key] != base.get(key) and theirs.get(key) == base.get(key):
            merged[key] = ours[key]
        elif key in base and key not in ours and theirs.get(key) == base.get(key):
            merged.pop(key, None)
    return merged
