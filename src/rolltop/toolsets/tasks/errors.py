"""Why a call about tasks is refused, each with what to do next."""

from __future__ import annotations

from typing import Final

from rolltop.core.db import Tx
from rolltop.core.errors import Conflict, NotFound, UserDeleted
from rolltop.toolsets.tasks import store
from rolltop.toolsets.tasks.models import Task, format_timestamp

NEXT_TASK_HINT: Final = "next_task answers a task that is ready."
TAKE_OVER_HINT: Final = (
    f"If the claim is yours, send token as claim_task answered it. {NEXT_TASK_HINT} "
    "If the holder is gone, force=true takes the task over."
)
TRASH_HINT: Final = (
    "restore_task finds what was deleted within the last 30 days, list_tasks what was not."
)
_OWN_TASK_HINT: Final = "Call again without user_id: then it is about your own tasks."


def require_version(task: Task, if_version: int | None) -> None:
    """Raise Conflict where the task is not at that version."""
    if if_version is not None and task.version != if_version:
        hint = f"data holds the task as it is now; call again with if_version {task.version}."
        raise conflict(task, f"if_version is {if_version}", hint)


def conflict(task: Task, message: str, hint: str) -> Conflict:
    """Return the conflict with the task as it is now."""
    return Conflict(
        f"{message}; the task is at version {task.version}", hint=hint, data={"data": task.data}
    )


def claimed_by_another(task: Task) -> Conflict:
    """Return the conflict with a running claim: who holds it, and until when."""
    until = format_timestamp(task.claimed_until) if task.claimed_until else ""
    holder = task.claimed_by or "another"
    return conflict(task, f"The task is claimed by {holder} until {until}", TAKE_OVER_HINT)


def wrong_token(task: Task) -> Conflict:
    """Return the conflict with a token of which no more is known than that it is another."""
    hint = (
        "Send the token as claim_task answered it; if another took the task since, "
        f"{NEXT_TASK_HINT}"
    )
    return conflict(task, "The token is not that of the task's claim", hint)


def concurrent_change(tx: Tx, owner: str, task: Task) -> Conflict:
    """Return the conflict of a call that another one overtook between two of its statements."""
    current = store.get_task(tx, owner, task.id) or task
    return conflict(current, "Another call changed the task while this one ran", "Call again.")


def user_not_found(user_id: str | None) -> NotFound | UserDeleted:
    """Return the refusal of a user who is not there: the one that was named, or the caller."""
    return UserDeleted() if user_id is None else not_found(hint=_OWN_TASK_HINT)


def not_found(what: str = "", hint: str = "") -> NotFound:
    """Return the refusal of a task that is missing or not the caller's, which are the same."""
    where = f"{what}: " if what else ""
    return NotFound(
        "Task not found or access denied",
        hint=hint or f"{where}list_tasks answers the ids of your tasks.",
    )
