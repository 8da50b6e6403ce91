"""The desk: what all toolsets keep and read, under one kind of address."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.pagination import add_continuation
from rolltop.core.settings import Setting
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.desk.jobs import JOBS
from rolltop.toolsets.desk.tools import SERVICE, TOOLS


def _shape_error(error: RolltopError) -> dict[str, Any]:
    shown: dict[str, Any] = {"code": error.code, "message": error.message, "hint": error.hint}
    return {"error": {**shown, "details": error.data} if error.data else shown}


def _resume(arguments: Mapping[str, str]) -> str:
    project = arguments.get("project")
    named = f" with project {project}" if project else ""
    return (
        f"Call desk_resume{named} and say in a few lines where the work stands: what is in work "
        "and how far it got, what others changed, what is broken, what is blocked by what. Open "
        "with desk_read only what you need to say it. Then name what you would do next, and wait."
    )


def _handover(_arguments: Mapping[str, str]) -> str:
    return (
        "Hand your work over, so that somebody who knows nothing of this conversation can go on."
        "\n\n"
        "1. desk_changes or desk_history: what you wrote in this session.\n"
        "2. Each task in work: update_task with a comment that says what is done, what is not, "
        "and the next step. complete_task where it is done. add_task for what came up.\n"
        "3. note_save for decisions and findings that stand nowhere yet, with their reasons and "
        "the addresses they rest on.\n"
        "4. desk_resume: read it as the next one will, and mend what it does not say.\n"
        "5. Answer with the addresses, one line each."
    )


TOOLSET: Final = Toolset(
    name="desk",
    summary="One address for everything that is kept or read.",
    guidance=("At the start, desk_resume says where the work stands.",),
    tools=TOOLS,
    error_codes={
        "INVALID_ARGUMENT": "An argument is unknown, missing or wrong, or the text is no address.",
        "INVALID_TEXT": "The address holds a lone surrogate.",
        "INVALID_CURSOR": "The cursor does not come from this list.",
        "VERSION_NOT_FOUND": "What was there then is no longer kept; kept_since says since when.",
        "NOT_FOUND": "Nothing is at the address any more, or it is another user's.",
        "CONFLICT": "Later work depends on what would be undone; nothing was.",
        "TIMEOUT": "The call passed call_timeout.",
        "UNAVAILABLE": "The store is out of reach or too slow, or the server is stopping.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    with_continuation=add_continuation,
    service=SERVICE,
    undo="rolltop.core.journal.undo:take_back_rows",
    journal_kinds=("link",),
    settings=(
        Setting(
            "desk.history_days",
            "integer",
            30,
            "Days that the journal keeps what was changed, to show and to undo it.",
            minimum=1,
            maximum=3650,
        ),
        Setting(
            "desk.history_bytes",
            "integer",
            1 << 28,
            "Bytes of a user's texts, compressed, that the journal keeps: the oldest go first.",
            minimum=1,
            unlimited=0,
        ),
    ),
    jobs=JOBS,
    prompts=(
        Prompt(
            "resume",
            "Resume the work",
            "Say where the work stands and what comes next.",
            (PromptArgument("project", "The project; this connection's own where left out."),),
            _resume,
            tools=("desk_resume", "desk_read"),
        ),
        Prompt(
            "handover",
            "Hand the work over",
            "Write down what the next session or person needs to go on.",
            (),
            _handover,
            tools=("desk_resume", "desk_changes", "update_task", "note_save"),
        ),
    ),
    reads_roots=True,
    has_seed=False,
)
