"""Plain-text notes, here and in step with Simplenote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rolltop.core.settings import Setting
from rolltop.core.toolset import Prompt, PromptArgument, Toolset
from rolltop.toolsets.notes.clients.settings import SETTINGS, check
from rolltop.toolsets.notes.jobs import JOBS
from rolltop.toolsets.notes.models import ErrorAnswer, continued
from rolltop.toolsets.notes.tools import REFERENCES, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.errors import RolltopError

_AUTH: Final = ("AUTH", 401)
_WRONG: Final = ("VALIDATION", 400)
_MISSING: Final = ("NOT_FOUND", 404)
_CONFLICT: Final = ("CONFLICT", 409)
_BACKEND: Final = ("BACKEND_API", 502)

_CODES: Final[Mapping[str, tuple[tuple[str, int], str]]] = {
    "LOGIN_REQUIRED": (_AUTH, "The account has to be connected by a person first."),
    "LOGIN_FAILED": (_AUTH, "The backend does not accept the credentials."),
    "TOKEN_REJECTED": (_AUTH, "The backend does not accept the account's token any more."),
    "INVALID_ARGUMENT": (_WRONG, "An argument is unknown, missing, of the wrong kind or range."),
    "INVALID_DATE": (_WRONG, "A date is not YYYY-MM-DD, or no day of the calendar."),
    "INVALID_RANGE": (_WRONG, "A range of lines or characters is not one."),
    "INVALID_PATCH": (_WRONG, "The patch does not fit the text it is for; nothing was written."),
    "INVALID_TAGS": (_WRONG, "More than 100 tags, or one that is not of 1 to 100 characters."),
    "INVALID_TEXT": (_WRONG, "A text holds NUL or a lone surrogate."),
    "SHRINK_NOT_CONFIRMED": (_WRONG, "The save would make little of a long note."),
    "NOTE_NOT_FOUND": (_MISSING, "There is no such note, or it is another user's."),
    "VERSION_NOT_FOUND": (_MISSING, "That version of the note is not kept."),
    "VERSION_CONFLICT": (_CONFLICT, "The note changed since it was read; details has both sides."),
    "BACKEND_TIMEOUT": (_BACKEND, "The backend did not answer in time."),
    "BACKEND_RATE_LIMIT": (_BACKEND, "The backend takes no more requests for now."),
    "BACKEND_UNAVAILABLE": (_BACKEND, "The backend is out of reach or out of order."),
    "BACKEND_REFUSED": (_BACKEND, "The backend does not take the request."),
    "OPERATION_TIMEOUT": (("TIMEOUT", 504), "The call passed call_timeout."),
    "NOT_IN_LOCAL_MODE": (_WRONG, "The action needs a connected account."),
    "PENDING_WRITES": (_CONFLICT, "Changes wait to be sent to the backend."),
    "UNAVAILABLE": (("INTERNAL", 503), "The store is out of reach, or the server is stopping."),
    "INTERNAL_ERROR": (("INTERNAL", 500), "A fault of the server; the log has the reference."),
}


def _shape_error(error: RolltopError) -> dict[str, Any]:
    (category, status), _text = _CODES.get(error.code, _CODES["INTERNAL_ERROR"])
    data = dict(error.data)
    status = data.pop("http_status", status)
    details = {**data.pop("details", {})}
    named = {"subcategory": data.pop("subcategory")} if "subcategory" in data else {}
    return {
        "error": {
            "category": category,
            "code": error.code,
            "message": error.message,
            "details": {**details, **data},
            "resolution_hint": error.hint,
            **named,
            "http_status": status,
        }
    }


def _keep_as_note(arguments: Mapping[str, str]) -> str:
    return (
        f"Keep this in the notes: {arguments['content']}\n\n"
        "1. note_list with a few telling words as q and preview_lines 3, so that nothing is "
        "kept twice.\n"
        "2. If a note is about it already, note_get it and add what is new by note_save with "
        "text_patch. Otherwise note_save a new note: its first line is the title, then the "
        "facts, with dates and sources. Reuse tags that other notes have.\n"
        "3. Say which note holds it now; do not repeat its text."
    )


TOOLSET: Final = Toolset(
    name="notes",
    summary="Plain-text notes with history, in step with Simplenote.",
    tools=TOOLS,
    codes={code: text for code, (_category, text) in _CODES.items()},
    shape_error=_shape_error,
    error_output=ErrorAnswer,
    continued=continued,
    settings=(
        Setting(
            "notes.history",
            "integer",
            100,
            "How many versions of a note are kept, the present one counted.",
            minimum=1,
            unlimited=0,
        ),
        *SETTINGS,
    ),
    jobs=JOBS,
    references=REFERENCES,
    prompts=(
        Prompt(
            "keep_as_note",
            "Keep as a note",
            "Add something to the notes without keeping it twice.",
            (PromptArgument("content", "What is to be kept.", required=True),),
            _keep_as_note,
            tools=("note_list", "note_get", "note_save"),
        ),
    ),
    check=check,
    timeout_code="OPERATION_TIMEOUT",
)
