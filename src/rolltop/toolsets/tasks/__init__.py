"""Per-user task lists for agents and the people they work for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.tasks.jobs import JOBS
from rolltop.toolsets.tasks.models import MAX_LIST_LENGTH
from rolltop.toolsets.tasks.tools import RESOURCE_TEMPLATES, SERVICE, TOOLS

_UNAVAILABLE: Final = "Service temporarily unavailable, please try again"


def _shape_error(error: RolltopError) -> dict[str, Any]:
    message, hint = error.message, error.hint
    if error.code == "UNAVAILABLE":  # its text is fixed, so the hint says why
        message, hint = _UNAVAILABLE, f"{message.rstrip('.')}. {hint}"
    shape = {"success": False, "error": message, "code": error.code, "hint": hint}
    return {**shape, **error.data}


def _plan_work(arguments: Mapping[str, str]) -> str:
    return (
        f"Plan this work as tasks: {arguments['goal']}\n\n"
        "1. list_tasks with status pending, so that nothing is planned twice.\n"
        "2. One add_task with tasks: the steps, each after those it needs, which it names in "
        "blocked_by by index (0 is the first), and at the end the goal, blocked_by all steps. A "
        "step is small enough to finish in one sitting and its title says what is true when it is "
        f"done. One call takes {MAX_LIST_LENGTH}.\n"
        "3. Give priority (0 is the most urgent) and due_at only where they matter.\n"
        "4. Show the plan and stop. To work on it: next_task, claim_task, do it, complete_task "
        "with the token; repeat until next_task answers null."
    )


TOOLSET: Final = Toolset(
    name="tasks",
    summary="Task lists with dependencies, claims and a trash.",
    guidance=(
        "next_task or list_tasks says what is left to do.",
        "Plan with add_task; complete_task as soon as something is done.",
    ),
    tools=TOOLS,
    earlier="rolltop.toolsets.tasks.earlier:read_earlier",
    undo="rolltop.core.journal.undo:take_back_rows",
    undo_guard="rolltop.toolsets.tasks.undo:guard",
    journal_kinds=("task",),
    error_codes={
        "TITLE_REQUIRED": "The title is missing or blank.",
        "NOT_A_MEMBER": "The assignee is no member of the workspace, or several.",
        "TITLE_TOO_LONG": "The title has more than 200 characters.",
        "DESCRIPTION_TOO_LONG": "The description has more than 2000 characters.",
        "INVALID_ID": "An id is not a UUID, or begins several ids.",
        "NOT_FOUND": "The task, user, parent or blocker does not exist, or is another user's.",
        "NOTHING_TO_UPDATE": "update_task was given no field to change.",
        "INVALID_STATUS": "The status is not one of all, pending, completed.",
        "INVALID_LIMIT": "The limit is not from 1 to 200.",
        "INVALID_CURSOR": "The cursor is not one that this call answered.",
        "INVALID_TEXT": "A text holds NUL or a lone surrogate.",
        "CYCLE": "The task would wait for itself, or lie below itself.",
        "CONFLICT": "The task changed since it was read, or another holds it; data shows it now.",
        "INVALID_ARGUMENT": "An argument is unknown, missing or of the wrong kind.",
        "UNAVAILABLE": "The store is out of reach or too slow, or the server is stopping.",
        "TIMEOUT": "The call passed call_timeout.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    error_fields=("success", "error", "code", "hint"),
    service=SERVICE,
    jobs=JOBS,
    resource_templates=RESOURCE_TEMPLATES,
    prompts=(
        Prompt(
            "plan",
            "Plan work as tasks",
            "Break a goal into tasks with their order.",
            (PromptArgument("goal", "What is to be done.", required=True),),
            _plan_work,
            tools=("add_task", "next_task"),
        ),
    ),
)
