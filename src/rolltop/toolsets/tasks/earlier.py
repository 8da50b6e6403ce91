"""Tasks as they were, from the journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final, cast

from rolltop.core.context import AppContext
from rolltop.core.db import Tx
from rolltop.core.journal import history
from rolltop.core.journal.snapshot import EarlierThing, JournalSnapshot, Row
from rolltop.core.pagination import JsonObject, format_timestamp
from rolltop.toolsets.tasks.models import Task
from rolltop.toolsets.tasks.store.tables import task_blockers, task_comments, task_tags, tasks

_MAX_CHANGES: Final = 5
_MAX_LOOKED_AT: Final = 200
_TOLD_ELSEWHERE: Final = frozenset({"created", "changed"})


def read_history(tx: Tx, owner: str, task_id: str) -> list[str]:
    """Say what was changed of one of the owner's tasks last, a line each, newest first.

    Not what shows elsewhere: that it was made, and its comments.
    """
    tx = replace(tx, scope=replace(tx.scope, user_id=owner))
    wanted = history.EntryFilter(kind="task", ref=task_id)
    newest = history.read_entries(tx, wanted, limit=_MAX_LOOKED_AT, newest_first=True)
    changes = (replace(entry, changes=[*_without_comments(entry)]) for entry in newest)
    told = (entry for entry in changes if history.summarize(entry, {}) not in _TOLD_ELSEWHERE)
    entries = [*islice(told, _MAX_CHANGES)]
    texts = history.read_texts(tx, history.text_digests(entries))
    return [
        f"{format_timestamp(entry.at)} {entry.client or 'unknown'}: "
        f"{history.summarize(entry, texts)}"
        for entry in entries
    ]


def _without_comments(entry: history.Entry) -> Iterator[Mapping[str, Any]]:
    return (change for change in entry.changes if change["table"] != task_comments.name)


def read_earlier(
    _app: AppContext, tx: Tx, snapshot: JournalSnapshot, kind: str, ref: str | None = None
) -> dict[str, EarlierThing | None]:
    """Map tasks to what they were; None is one that was not there (`Toolset.earlier`)."""
    refs = snapshot.changed_ids(kind) if ref is None else {ref}
    found: dict[str, EarlierThing | None] = dict.fromkeys(refs)
    tags = _group(snapshot.rows(task_tags.c.task_id, refs))
    blockers = {} if ref is None else _group(snapshot.rows(task_blockers.c.task_id, refs))
    comments = {} if ref is None else _group(snapshot.rows(task_comments.c.task_id, refs))
    for row in snapshot.rows(tasks.c.id, refs):
        task_id = row["id"]
        blocked_by = [one["blocker_id"] for one in blockers.get(task_id, ())]
        tagged = (one["tag"] for one in tags[task_id])
        task = Task.of_row(row, tagged, blocked_by, snapshot.moment.at)
        hidden = set[str | None]() if ref is None else _hidden(tx, snapshot, task)
        task = replace(
            task,
            parent_id=None if task.parent_id in hidden else task.parent_id,
            blocked_by=tuple(one for one in task.blocked_by if one not in hidden),
            version=snapshot.version(kind, task_id, task.version),
            updated_at=min(task.updated_at, snapshot.moment.at),
        )
        found[task_id] = EarlierThing(
            task.version,
            task.title,
            task.description or "",
            task.updated_at,
            task.tags,
            row["deleted_at"] is not None,
            task.project,
            task.project is None,
            fields=task.details,
            parts=[_comment_data(one) for one in _newest_first(comments.get(task_id, ()))],
        )
    return found


def _group(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return rows of a table beside the tasks, by task."""
    found = defaultdict[str, list["Row"]](list)
    for row in rows:
        found[row["task_id"]].append(row)
    return found


def _hidden(tx: Tx, snapshot: JournalSnapshot, task: Task) -> set[str | None]:
    """Return the parent and the blockers that were gone or in the trash then: none shows them."""
    hidden = set[str | None]()
    for other in filter(None, {task.parent_id, *task.blocked_by}):
        then = JournalSnapshot(tx, snapshot.moment, {"task"}, other)
        rows = then.rows(tasks.c.id, [other])
        if not rows or rows[0]["deleted_at"] is not None:
            hidden.add(other)
    return hidden


def _newest_first(comments: Iterable[Row]) -> list[Row]:
    return sorted(comments, key=lambda row: -cast("int", row["version"]))


def _comment_data(row: Row) -> JsonObject:
    return {"at": format_timestamp(row["created_at"]), "by": row["author"], "text": row["text"]}
