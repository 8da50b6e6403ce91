"""Claims of tasks: who may write a claimed task, and what taking a claim over leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rolltop.core.db import Tx
from rolltop.toolsets.tasks import errors, store
from rolltop.toolsets.tasks.models import ClaimAccess, Comment, Task
from rolltop.toolsets.tasks.store import comments

_OVERRIDE: Final = "overrode"


def require_access(tx: Tx, owner: str, task: Task, access: ClaimAccess) -> None:
    """Raise Conflict where another holds the task, or the token's claim runs no more."""
    if access.force:
        return
    if access.claim_hash is None:
        if task.claimed_until is not None:
            raise errors.claimed_by_another(task)
    elif not store.is_claim_holder(tx, owner, task.id, access.claim_hash):
        raise errors.wrong_token(task)
    elif task.status == "pending" and task.claimed_until is None:
        hint = "claim_task with the token takes the task up again."
        raise errors.conflict(task, "The claim's lease expired", hint)


def takeover_line(
    tx: Tx, owner: str, before: Task, access: ClaimAccess, verb: str = _OVERRIDE
) -> str | None:
    """Return what to note where force overrides the running claim of another."""
    if before.claimed_until is None or not access.force:
        return None
    held = access.claim_hash
    if held is not None and store.is_claim_holder(tx, owner, before.id, held):
        return None
    return f"{verb} the claim of {before.claimed_by or 'another'}"


def find_takeover(
    tx: Tx, owner: str, task_id: str, access: ClaimAccess, verb: str = _OVERRIDE
) -> tuple[Task, str] | None:
    """Return the task, locked, and what to note of it if this write overrides another's claim."""
    task = store.get_for_update(tx, owner, task_id) if access.force else None
    line = task and takeover_line(tx, owner, task, access, verb)
    return (task, line) if task and line else None


def note_takeover(tx: Tx, owner: str, takeover: tuple[Task, str] | None) -> None:
    """Note that another's claim was overridden, if it was."""
    if takeover is not None:
        task, line = takeover
        add_comment(tx, owner, task.id, task.version + 1, [line])


def add_comment(tx: Tx, owner: str, task_id: str, version: int, lines: Sequence[str]) -> None:
    """Keep lines that the caller notes on a version of a task, if any."""
    if lines:
        comment = Comment(version, tx.now, tx.scope.label, "\n".join(lines))
        comments.insert_comment(tx, owner, task_id, comment)
