"""Checks of what a caller sends, before anything is looked up, and the errors notes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rolltop.core.arguments import shown, storable
from rolltop.core.errors import Conflict, Invalid, NotFound
from rolltop.core.text.patch import Change
from rolltop.toolsets.notes.models import ID_LENGTH, MOST_TAGS, TAG_LENGTH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.toolsets.notes.models import Note, PatchOperation, Save

Stretches = tuple[tuple[int, int], ...]
"""The first and the last line of each."""
MOST_VERSIONS: Final = 1 << 31
"""A version that is no less is none: the databases could not even look for it."""


def identifier(note_id: str) -> str:
    """Return the id. Raises Invalid for one that no note can have."""
    if not 1 <= len(note_id) <= ID_LENGTH:
        raise Invalid(
            f"id must be text of 1 to {ID_LENGTH} characters; it has {len(note_id)}",
            hint="note_list answers the ids of your notes.",
        )
    return storable(note_id, "id")


def tags(given: Sequence[str]) -> tuple[str, ...]:
    """Return the tags, each once. Raises Invalid (INVALID_TAGS) for too many or a bad one."""
    if len(given) > MOST_TAGS:
        raise _wrong_tags(f"tags holds {len(given)} entries")
    for at, tag in enumerate(given):
        if not 1 <= len(tag) <= TAG_LENGTH:
            raise _wrong_tags(f"tags[{at}] has {len(tag)} characters")
        storable(tag, f"tags[{at}]")
    return tuple(dict.fromkeys(given))


def changes(operations: Sequence[PatchOperation]) -> tuple[Change, ...]:
    """Return the operations of a patch. Raises Invalid (INVALID_PATCH)."""
    if not operations:
        raise wrong_patch("text_patch is an empty list")
    made: list[Change] = []
    for at, given in enumerate(operations):
        value = given.get("val")
        if value is None and given["op"] != "del":
            raise wrong_patch(f"text_patch[{at}]: {given['op']} needs val, the new lines")
        if value and given["op"] == "del":
            raise wrong_patch(f"text_patch[{at}]: del takes no val")
        made.append(Change(given["op"], given["ln"], storable(value or "", f"text_patch[{at}]")))
    return tuple(made)


def save(asked: Save) -> None:
    """Raise Invalid where the arguments of a save do not go together."""
    if (asked.text is None) == (asked.patch is None):
        both = "both are given" if asked.text is not None else "neither is given"
        hint = "Send text to replace the whole note, or text_patch to change lines of it."
        if asked.id is not None and asked.text is None:
            hint += (
                " For tags alone text_patch takes one mod that leaves a line as it is; note_manage "
                "trashes and untrashes."
            )
        raise Invalid(f"Exactly one of text and text_patch is needed; {both}", hint=hint)
    if asked.text is not None:
        storable(asked.text)
    if asked.id is None:
        named = {
            "local_version": asked.local_version,
            "server_version": asked.server_version,
            "text_patch": asked.patch,
        }
        given = [name for name, value in named.items() if value is not None]
        if given:
            raise Invalid(
                f"{given[0]} needs the id of the note it is about",
                hint="Add id, as note_list answers it; a new note takes text alone.",
            )
    elif asked.local_version is None:
        raise version_missing("note_save")


def version_missing(tool: str) -> Invalid:
    """Return the error of a write that does not say which version it is about."""
    return Invalid(
        "local_version is required with id",
        hint=f"note_get answers the note's local_version; call {tool} again with it.",
    )


def wrong_patch(message: str) -> Invalid:
    """Return the error of a patch that cannot be applied."""
    return Invalid(
        message,
        code="INVALID_PATCH",
        hint='Nothing was written. Operations are {"op": "add"|"mod"|"del", "ln": line, "val": '
        "text}, with the line numbers of local_version; note_get shows the lines.",
    )


def missing(note_id: str) -> NotFound:
    """Return the error of a note that is not there."""
    return NotFound(
        f"There is no note {shown(note_id)}",
        code="NOTE_NOT_FOUND",
        hint="note_list answers the ids of your notes; trash_s 2 lists those in the trash too.",
    )


def deleted(note_id: str, last: int) -> NotFound:
    """Return the error of a note that was deleted for good at version `last`."""
    return NotFound(
        f"Note {shown(note_id)} was deleted for good",
        code="NOTE_NOT_FOUND",
        hint=f"note_manage with action restore, local_version {last} and one of the versions that "
        "action history lists brings it back; note_get reads them.",
    )


def version_gone(note_id: str, version: int) -> NotFound:
    """Return the error of a version that is not kept."""
    return NotFound(
        f"Version {version} of note {shown(note_id)} is not kept",
        code="VERSION_NOT_FOUND",
        hint="note_manage with action history lists the versions that are; note_get without "
        "local_version reads the note as it is now.",
    )


class Outdated(Conflict):
    """A note is not at the version a caller believes it to be at; `note` is how it is now."""

    def __init__(self, note: Note, message: str, *, hint: str) -> None:
        """Tell all of the note but its text."""
        current: dict[str, Any] = {
            "id": note.id,
            "current_local_version": note.local_version,
            "current_server_version": note.server_version,
            "current_tags": list(note.content.tags),
            "current_trash": note.content.trash,
        }
        super().__init__(
            f"{message}; the note is at local_version {note.local_version}. Nothing was written",
            code="VERSION_CONFLICT",
            hint=hint,
            data={"details": current},
        )
        self.note = note


class Clash(Outdated):
    """A save that does not go together with the note as it is now.

    `yours` is what was asked for; `lines` are the stretches of the note that a patch is about, in
    order, None for a whole text.
    """

    def __init__(
        self, note: Note, message: str, yours: Mapping[str, Any], lines: Stretches | None
    ) -> None:
        """Keep both sides: how much of them is told depends on the budget."""
        hint = "bring them together, then save with local_version"
        super().__init__(
            note, message, hint=f"details holds both sides: {hint} {note.local_version}."
        )
        self.yours = yours
        self.lines = lines


def require_version(note: Note, local_version: int) -> None:
    """Raise Conflict where a note is not at the version a caller believes it to be at."""
    if note.local_version != local_version:
        raise Outdated(
            note,
            f"local_version is {local_version}",
            hint=f"Call again with local_version {note.local_version} if that is still what is "
            "meant.",
        )


def _wrong_tags(message: str) -> Invalid:
    return Invalid(
        message,
        code="INVALID_TAGS",
        hint=f"Send at most {MOST_TAGS} tags of 1 to {TAG_LENGTH} characters.",
    )
