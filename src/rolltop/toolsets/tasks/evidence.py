"""What proves that tasks are done: asked for at the completion, and looked at again by lists."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound
from rolltop.core.evidence import (
    MAX_READ_BYTES,
    Evidence,
    EvidenceState,
    OutOfSight,
    ReadBudget,
    find_state,
    resolve_evidence,
    worst_state,
)
from rolltop.core.principal import IMPERSONATE
from rolltop.toolsets.tasks import errors, input_checks
from rolltop.toolsets.tasks.models import CheckedEvidence, Task, TaskInput, parse_id

_ELSEWHERE_HINT: Final = (
    "Complete the task at a server that reads its evidence, "
    "or update_task with evidence that this one reads."
)


class EvidenceRequired(Exception):
    """A task completes only once its evidence was looked at."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task


def _as_owner(call: CallContext, user_id: str | None) -> CallContext:
    """Return the call as it looks at the things of the tasks' owner, whom it may name or not."""
    if user_id is None or IMPERSONATE not in call.principal.permissions:
        return call
    owner = parse_id(user_id, "user_id")
    return replace(call, principal=replace(call.principal, user_id=owner, tenant_id=owner))


async def resolve_input(call: CallContext, user_id: str | None, given: TaskInput) -> TaskInput:
    """Return a task's fields, its evidence resolved. Raises InvalidArgument and NotFound."""
    if not given.evidence:
        return given
    uris = input_checks.check_each(str, [str(one) for one in given.evidence], "evidence")
    call = _as_owner(call, user_id)
    return replace(given, evidence=[await resolve_evidence(call, uri) for uri in uris])


async def check_evidence(call: CallContext, user_id: str | None, task: Task) -> CheckedEvidence:
    """Return the evidence of a task's criteria as it is now.

    Raises Conflict for a criterion without evidence that resolves: the first evidence is that of
    the first, and so on. A task without criteria needs one.
    """
    needed = max(len(task.acceptance), 1)
    hint = "update_task with evidence: an address for each of acceptance, in its order."
    if len(task.evidence) < needed:
        lacking = task.acceptance[len(task.evidence)] if task.acceptance else ""
        which = f"Criterion {len(task.evidence) + 1} ({lacking})" if lacking else "The task"
        raise errors.conflict(task, f"{which} has no evidence", hint)
    found: list[Evidence] = []
    for number, kept in enumerate(task.evidence, 1):
        try:
            owner = _as_owner(call, user_id)
            found.append(await resolve_evidence(owner, kept.uri, strictly=True, kept=kept))
        except OutOfSight as refused:
            message = f"Evidence {number} cannot be looked at here: {refused.message}"
            raise errors.conflict(task, message, _ELSEWHERE_HINT) from None
        except (NotFound, InvalidArgument) as refused:
            message = f"Evidence {number} does not resolve: {refused.message}"
            raise errors.conflict(task, message, hint) from None
    return CheckedEvidence(task.version, tuple(found))


async def mark_tasks(
    call: CallContext,
    user_id: str | None,
    tasks: Iterable[Task],
    max_bytes: float = MAX_READ_BYTES,
) -> list[Task]:
    """Return tasks of the caller, or of the user named, with what became of their evidence.

    Once about `max_bytes` are read nothing is said of the rest; later calls go on there, for what
    did not change is not read again.
    """
    owner, budget = _as_owner(call, user_id), ReadBudget(max_bytes)
    known, marked = dict[Evidence, EvidenceState](), list[Task]()
    for task in tasks:
        for kept in task.evidence:
            if kept not in known:
                known[kept] = await find_state(owner, kept, budget)
        states = tuple(known[kept] for kept in task.evidence)
        marked.append(replace(task, evidence_states=states, evidence_state=worst_state(states)))
    return marked


async def mark_task(call: CallContext, user_id: str | None, task: Task) -> Task:
    """Return a task with what became of its evidence."""
    return (await mark_tasks(call, user_id, [task]))[0]
