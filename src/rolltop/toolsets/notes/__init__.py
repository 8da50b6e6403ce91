"""Plain-text notes, local or synced with Simplenote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.settings import Setting
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.notes.clients.settings import SETTINGS, check_settings
from rolltop.toolsets.notes.jobs import JOBS
from rolltop.toolsets.notes.tools import RESOURCE_TEMPLATES, SERVICE, TOOLS

_AUTH: Final = ("AUTH", 401)
_VALIDATION: Final = ("VALIDATION", 400)
_NOT_FOUND: Final = ("NOT_FOUND", 404)
_CONFLICT: Final = ("CONFLICT", 409)
_BACKEND: Final = ("BACKEND_API", 502)

_CODES: Final[Mapping[str, tuple[tuple[str, int], str]]] = {
    "LOGIN_REQUIRED": (_AUTH, "A person must connect the account first."),
    "LOGIN_FAILED": (_AUTH, "The backend does not accept the credentials."),
    "TOKEN_REJECTED": (_AUTH, "The backend no longer accepts the account's token."),
    "INVALID_ARGUMENT": (_VALIDATION, "An argument is unknown, missing or has a wrong value."),
    "INVALID_DATE": (_VALIDATION, "A date is not a day of the calendar as YYYY-MM-DD."),
    "INVALID_RANGE": (_VALIDATION, "A range of lines or characters is invalid."),
    "INVALID_PATCH": (_VALIDATION, "The patch does not fit its text; nothing was written."),
    "INVALID_TAGS": (_VALIDATION, "More than 100 tags, or one of 0 or over 100 characters."),
    "INVALID_TEXT": (_VALIDATION, "A text contains NUL or a lone surrogate."),
    "SHRINK_NOT_CONFIRMED": (
        _VALIDATION,
        "The save would shrink a long note to less than a fifth.",
    ),
    "NOTE_NOT_FOUND": (_NOT_FOUND, "No such note, or it belongs to another user."),
    "VERSION_NOT_FOUND": (_NOT_FOUND, "That version is not in the note's history."),
    "VERSION_CONFLICT": (_CONFLICT, "The note changed since it was read; details has both sides."),
    "CONFLICT": (_CONFLICT, "The idempotency_key was used with other arguments."),
    "BACKEND_TIMEOUT": (_BACKEND, "The backend did not answer in time."),
    "BACKEND_RATE_LIMIT": (_BACKEND, "The backend accepts no more requests for now."),
    "BACKEND_UNAVAILABLE": (_BACKEND, "The backend is unreachable or failing."),
    "BACKEND_REFUSED": (_BACKEND, "The backend refuses the request."),
    "TIMEOUT": (("TIMEOUT", 504), "The call exceeded call_timeout."),
    "NOT_IN_LOCAL_MODE": (_VALIDATION, "The action needs a connected account."),
    "PENDING_WRITES": (_CONFLICT, "There are changes the backend does not have yet."),
    "UNAVAILABLE": (("INTERNAL", 503), "The store is unreachable, or the server is shutting down."),
    "INTERNAL_ERROR": (("INTERNAL", 500), "An error in the server; the log has the reference."),
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
        f"Save this in the notes: {arguments['content']}\n\n"
        "1. note_list with a few specific words as q and preview_lines 3, to avoid duplicates.\n"
        "2. If a note is about it already, note_get it and add what is new by note_save with "
        "text_patch. Otherwise note_save a new note: its first line is the title, then the "
        "facts, with dates and sources. Reuse tags of other notes.\n"
        "3. Say which note has it now; do not repeat its text."
    )


TOOLSET: Final = Toolset(
    name="notes",
    summary="Plain-text notes with history, synced with Simplenote.",
    guidance=(
        "Before asking the user what was decided, note_list with a question.",
        "Before ending, note_save what the next session should know.",
    ),
    tools=TOOLS,
    earlier="rolltop.toolsets.notes.earlier:read_earlier",
    undo="rolltop.toolsets.notes.undo:take_back",
    journal_kinds=("note",),
    evidence={"note": "rolltop.toolsets.notes.evidence:resolve_note"},
    error_codes={code: text for code, (_category, text) in _CODES.items()},
    shape_error=_shape_error,
    settings=(
        Setting(
            "notes.history",
            "integer",
            100,
            "Versions of a note to keep, the present one included.",
            minimum=1,
            unlimited=0,
        ),
        Setting(
            "notes.project_tag",
            "flag",
            default=False,
            help="Tag each new note with the project of the connection that saves it.",
        ),
        *SETTINGS,
    ),
    service=SERVICE,
    jobs=JOBS,
    resource_templates=RESOURCE_TEMPLATES,
    prompts=(
        Prompt(
            "keep_as_note",
            "Keep as a note",
            "Add something to the notes without duplicates.",
            (PromptArgument("content", "The text to save.", required=True),),
            _keep_as_note,
            tools=("note_list", "note_get", "note_save"),
        ),
    ),
    check_settings=check_settings,
)
