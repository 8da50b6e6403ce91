"""Edits of notes: what a caller asks for is checked and planned first, then written.

With a backend an edit is planned in one transaction and written in a later one, once the backend
has it: see `sync.push`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from rolltop.core.accounts import lock_owner
from rolltop.core.addresses import is_address, is_id_start
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.errors import Conflict, InvalidArgument, NotFound
from rolltop.core.text import patch
from rolltop.core.text.patch import LineChange
from rolltop.toolsets.notes.models import (
    MAX_ID_LENGTH,
    MAX_TAG_LENGTH,
    MAX_TAGS,
    Content,
    NewNote,
    Note,
    PatchOperation,
    SaveRequest,
    SaveResult,
    Source,
    Version,
    is_cut,
)

if TYPE_CHECKING:
    from rolltop.toolsets.notes.store.notebooks import Notebook

# First and last line of each range.
LineRanges = tuple[tuple[int, int], ...]
# The databases cannot even look for a greater version.
_VERSION_LIMIT: Final = 1 << 31


@dataclass(frozen=True)
class Edit:
    """The planned next version of a note; nothing is written yet.

    `before` is None for a new note, which may have an `id` that was here before.
    """

    before: Note | None
    content: Content
    source: Source = "local"
    id: str | None = None
    moved: tuple[tuple[int, int], ...] | None = None


class VersionConflict(Conflict):
    """A note is not at the version that the caller expects; `note` is its present state."""

    default_code = "VERSION_CONFLICT"

    def __init__(self, note: Note, message: str, *, hint: str) -> None:
        """Put all of the note but its text into the details."""
        current: dict[str, Any] = {
            "id": note.id,
            "current_local_version": note.local_version,
            "current_server_version": note.server_version,
            "current_tags": list(note.content.tags),
            "current_trash": note.content.trash,
        }
        message += f"; the note is at local_version {note.local_version}. Nothing was written"
        super().__init__(message, hint=hint, data={"details": current})
        self.note = note


class SaveConflict(VersionConflict):
    """A save conflicts with the note as it is now.

    `yours` is what was asked for; `lines` are the lines of the note that a patch is about, None
    for a whole text.
    """

    def __init__(
        self, note: Note, request: SaveRequest, why: str, lines: LineRanges | None
    ) -> None:
        """Keep both sides; how much of them is answered depends on the token budget."""
        hint = "bring them together, then save with local_version"
        super().__init__(note, why, hint=f"details holds both sides: {hint} {note.local_version}.")
        if lines is None and request.patch:
            named = sorted({change.line for change in request.patch})
            lines = tuple((line, line) for line in named)
        self.lines = lines
        operations = request.patch and [
            {"op": change.operation, "ln": change.line, "val": change.value}
            for change in request.patch
        ]
        tags = None if request.tags is None else list(request.tags)
        yours = {
            "your_text": request.text,
            "your_patch": operations,
            "your_tags": tags,
            "your_trash": request.trash,
        }
        self.yours: Mapping[str, Any] = {k: v for k, v in yours.items() if v is not None}


_UUID_LENGTH: Final = 36
_MAX_CANDIDATES: Final = 5


def check_id(note_id: str) -> str:
    """Return the id. Raises InvalidArgument for one that no note can have."""
    if not 1 <= len(note_id) <= MAX_ID_LENGTH:
        raise InvalidArgument(
            f"id must be text of 1 to {MAX_ID_LENGTH} characters; it has {len(note_id)}",
            hint="note_list answers the ids of your notes.",
        )
    return require_storable(note_id, "id")


def may_be_start(given: str) -> bool:
    """Whether a text may be the beginning of a note's id. Raises InvalidArgument as `check_id`."""
    is_whole = len(check_id(given)) == _UUID_LENGTH and given == given.lower()
    return is_id_start(given) and not is_whole


def find_id(notebook: Notebook, given: str) -> str:
    """Return the id of the note whose id is, or else alone begins with, what was given.

    Raises InvalidArgument for the beginning of several ids.
    """
    if not may_be_start(given):
        return given
    found = notebook.ids_starting(given, _MAX_CANDIDATES)
    if given in found or not found:
        return given
    if len(found) > 1:
        raise InvalidArgument(
            f"id {given} begins several ids: {', '.join(found)}", hint="Send one of them as id."
        )
    return found[0]


def check_save(request: SaveRequest) -> SaveRequest:
    """Check the arguments of a save by themselves; return them with each tag once."""
    if (request.text is None) == (request.patch is None):
        count = "both are given" if request.text is not None else "neither is given"
        hint = "Send text to replace the whole note, or text_patch to change lines of it."
        if request.id is not None and request.text is None:
            hint += (
                " For tags alone text_patch takes one mod that leaves a line as it is; note_manage "
                "trashes and untrashes."
            )
        raise InvalidArgument(f"Exactly one of text and text_patch is needed; {count}", hint=hint)
    if request.text is not None:
        require_storable(request.text)
    if request.id is None:
        for name in ("local_version", "server_version"):
            if getattr(request, name) is not None:
                raise InvalidArgument(
                    f"{name} needs the id of the note it is about",
                    hint="Add id, as note_list answers it; a new note takes no version.",
                )
    elif request.local_version is None:
        raise version_required("note_save")
    if request.tags is not None:
        request = replace(request, tags=check_tags(request.tags))
    if request.id is not None:
        check_id(request.id)
    return request


def parse_patch(operations: Sequence[PatchOperation]) -> tuple[LineChange, ...]:
    """Parse the operations of a patch. Raises InvalidArgument (INVALID_PATCH)."""
    if not operations:
        raise _invalid_patch("text_patch is an empty list")
    changes: list[LineChange] = []
    for at, given in enumerate(operations):
        value = given.get("val")
        if value is None and given["op"] != "del":
            raise _invalid_patch(f"text_patch[{at}]: {given['op']} needs val, the new lines")
        if value and given["op"] == "del":
            raise _invalid_patch(f"text_patch[{at}]: del takes no val")
        text = require_storable(value or "", f"text_patch[{at}]")
        changes.append(LineChange(given["op"], given["ln"], text))
    return tuple(changes)


def plan_save(notebook: Notebook, request: SaveRequest) -> Edit:
    """Plan a save that `check_save` has passed.

    Raises:
        InvalidArgument: the patch does not fit the note, or little would be left of it.
        NotFound: there is no such note.
        Conflict: the note changed since, in a place that the save changes too.

    """
    if request.id is None:
        now, tags = notebook.tx.now.timestamp(), request.tags or ()
        text = request.text or _apply_patch("", request.patch or ())
        return Edit(None, Content(text, tags, bool(request.trash), now, now))
    note = notebook.lock(request.id)
    if note is None:
        raise missing_note_error(notebook, request.id)
    if request.server_version is not None and request.server_version != note.server_version:
        stored = "none" if note.server_version is None else note.server_version
        why = f"server_version is {request.server_version}, stored is {stored}"
        raise SaveConflict(note, request, why, None)
    is_current = request.local_version == note.local_version
    if request.patch is None:
        if not is_current:
            why = f"local_version is {request.local_version}"
            raise SaveConflict(note, request, why, None)
        edit = _plan_content(notebook, note, request, request.text or "")
    elif is_current:
        text = _apply_patch(note.content.text, request.patch)
        edit = _plan_content(notebook, note, request, text)
    else:
        edit = _plan_rebased_patch(notebook, note, request, request.patch)
    _guard_shrink(note, edit.content.text, request)
    return edit


def plan_trash(notebook: Notebook, note_id: str, local_version: int, *, trash: bool) -> Edit:
    """Plan to put a note into the trash or to take it out."""
    note = _lock_version(notebook, note_id, local_version)
    return Edit(note, replace(note.content, trash=trash))


def plan_restore(notebook: Notebook, note_id: str, local_version: int, version: int) -> Edit:
    """Plan to bring back text and tags of an earlier version.

    A note that was deleted for good comes back, outside the trash. Raises NotFound and Conflict.
    """
    now = notebook.tx.now.timestamp()
    note = notebook.lock(note_id)
    if note is None:
        lock_owner(notebook.tx)  # another call may bring it back at this moment
        note = notebook.lock(note_id)
    if note is None:
        _require_erased(notebook, note_id, local_version)
        old = get_old_version(notebook, note_id, version)
        return Edit(None, replace(old.content, trash=False, modified=now), "restore", note_id)
    _require_version(note, local_version)
    content = note.content
    if version != note.local_version:
        old = get_old_version(notebook, note_id, version)
        content = replace(content, text=old.content.text, tags=old.content.tags)
    if content != note.content:
        content = replace(content, modified=now)
    return Edit(note, content, "restore")


def require_erasable(notebook: Notebook, note_id: str, local_version: int) -> Note:
    """Return a note that may be deleted for good: it is in the trash."""
    note = _lock_version(notebook, note_id, local_version)
    if not note.content.trash:
        raise InvalidArgument(
            "delete_permanently works on notes in the trash",
            hint="Call note_manage with action trash first; nothing was deleted.",
        )
    return note


def apply_edit(notebook: Notebook, edit: Edit) -> SaveResult:
    """Write an edit that was planned in this transaction."""
    if edit.before is None:
        new = NewNote(edit.content, edit.id)
        return SaveResult(notebook.create([new], source=edit.source)[0])
    if edit.content == edit.before.content:
        return SaveResult(edit.before, edit.moved)
    note = notebook.write(edit.before, edit.content, source=edit.source)
    return SaveResult(note, edit.moved)


def get_old_version(notebook: Notebook, note_id: str, version: int) -> Version:
    """Read an earlier version. Raises NotFound (VERSION_NOT_FOUND)."""
    found = None
    if 1 <= version < _VERSION_LIMIT:
        found = notebook.get_version(note_id, version)
    if found is None:
        raise NotFound(
            f"Version {version} of note {value_preview(note_id)} is not in its history",
            code="VERSION_NOT_FOUND",
            hint="note_manage with action history lists the versions; note_get without "
            "local_version reads the note as it is now.",
        )
    return found


def missing_note_error(notebook: Notebook, note_id: str) -> NotFound:
    """Create the error of a note that is not here, or was deleted for good."""
    last = notebook.latest_version(note_id)
    if last is None or last.erased_at is None:
        return note_not_found(note_id)
    return NotFound(
        f"Note {value_preview(note_id)} was deleted for good",
        code="NOTE_NOT_FOUND",
        hint=f"note_manage with action restore, local_version {last.local_version} and one of the "
        "versions that action history lists brings it back; note_get reads them.",
    )


def note_not_found(note_id: str) -> NotFound:
    """Create the error of a note that is not here."""
    if is_address(note_id):  # of another thing, or of a version or lines
        return NotFound(
            f"{value_preview(note_id)} is not the id of a note",
            code="NOTE_NOT_FOUND",
            hint="Send what follows rolltop://note/, without @version and #lines; desk_read opens"
            " every address.",
        )
    return NotFound(
        f"There is no note {value_preview(note_id)}",
        code="NOTE_NOT_FOUND",
        hint="note_list answers the ids of your notes; trash_s 2 lists those in the trash too.",
    )


def version_required(tool: str) -> InvalidArgument:
    """Create the error of a write without the version it is about."""
    return InvalidArgument(
        "local_version is required with id",
        hint=f"note_get answers the note's local_version; call {tool} again with it.",
    )


def check_tags(given: Sequence[str]) -> tuple[str, ...]:
    """Return each tag once. Raises InvalidArgument: INVALID_TAGS, INVALID_TEXT."""
    long = (at for at, tag in enumerate(given) if not 1 <= len(tag) <= MAX_TAG_LENGTH)
    wrong = next((f"tags[{at}] has {len(given[at])} characters" for at in long), None)
    if len(given) > MAX_TAGS:
        wrong = f"tags holds {len(given)} entries"
    if wrong:
        raise InvalidArgument(
            wrong,
            code="INVALID_TAGS",
            hint=f"Send at most {MAX_TAGS} tags of 1 to {MAX_TAG_LENGTH} characters.",
        )
    tags = (require_storable(tag, f"tags[{at}]") for at, tag in enumerate(given))
    return tuple(dict.fromkeys(tags))


def _plan_rebased_patch(
    notebook: Notebook, note: Note, request: SaveRequest, changes: tuple[LineChange, ...]
) -> Edit:
    version = request.local_version or 0
    why = f"The patch is for local_version {version}"
    if not 1 <= version < note.local_version:
        raise SaveConflict(note, request, f"{why}, which the note never had", None)
    base = notebook.get_version(note.id, version)
    if base is None:
        raise SaveConflict(note, request, f"{why}, which is not kept", None)
    now, then = note.content, base.content
    try:
        patch.check_patch(then.text, changes)
    except patch.PatchError as error:
        raise _invalid_patch(str(error)) from None
    rebased = patch.rebase_patch(then.text, now.text, changes)
    if (
        rebased is None
        or (request.tags is not None and now.tags not in (then.tags, request.tags))
        or (request.trash is not None and now.trash not in (then.trash, request.trash))
    ):
        lines = patch.affected_ranges(then.text, now.text, changes)
        raise SaveConflict(note, request, f"{why} and touches what changed since", lines)
    text = _apply_patch(now.text, rebased.changes)
    return replace(_plan_content(notebook, note, request, text), moved=rebased.lines)


def _plan_content(notebook: Notebook, note: Note, request: SaveRequest, text: str) -> Edit:
    old = note.content
    tags = old.tags if request.tags is None else request.tags
    trash = old.trash if request.trash is None else request.trash
    content = replace(old, text=text, tags=tags, trash=trash)
    if (text, tags) != (old.text, old.tags):
        content = replace(content, modified=notebook.tx.now.timestamp())
    return Edit(note, content)


def _apply_patch(text: str, changes: tuple[LineChange, ...]) -> str:
    try:
        return patch.apply_patch(text, changes)
    except patch.PatchError as error:
        raise _invalid_patch(str(error)) from None


def _invalid_patch(message: str) -> InvalidArgument:
    return InvalidArgument(
        message,
        code="INVALID_PATCH",
        hint='Nothing was written. Operations are {"op": "add"|"mod"|"del", "ln": line, "val": '
        "text}, with the line numbers of local_version; note_get shows the lines.",
    )


def _guard_shrink(note: Note, text: str, request: SaveRequest) -> None:
    before, after = len(note.content.text), len(text)
    if is_cut(before, after) and not request.confirm_shrink:
        other = "To change some lines send text_patch. " if request.patch is None else ""
        raise InvalidArgument(
            f"The save would shrink the note from {before} to {after} characters; "
            "nothing was written",
            code="SHRINK_NOT_CONFIRMED",
            hint=f"{other}If the rest is to go, call again with confirm_shrink true.",
        )


def _lock_version(notebook: Notebook, note_id: str, local_version: int) -> Note:
    note = notebook.lock(note_id)
    if note is None:
        raise missing_note_error(notebook, note_id)
    _require_version(note, local_version)
    return note


def _require_version(note: Note, local_version: int) -> None:
    if note.local_version != local_version:
        again = (
            f"Call again with local_version {note.local_version} if that is still what is meant."
        )
        raise VersionConflict(note, f"local_version is {local_version}", hint=again)


def _require_erased(notebook: Notebook, note_id: str, local_version: int) -> None:
    """Raise unless the note was erased at `local_version`."""
    last = notebook.latest_versions([note_id]).get(note_id)
    if last is None:
        raise note_not_found(note_id)
    if last != local_version:
        raise Conflict(
            f"local_version is {local_version}; the note was deleted at local_version {last}",
            code="VERSION_CONFLICT",
            hint=f"Call again with local_version {last}.",
            data={"details": {"id": note_id, "current_local_version": last}},
        )
