"""Tasks as Markdown files: their fields as front matter, their description as the text."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from typing import Any, Final, cast

from rolltop.core.accounts import is_email
from rolltop.core.addresses import parse_address
from rolltop.core.arguments import parse_timestamp, require_storable, value_preview
from rolltop.core.db import Tx
from rolltop.core.db.database import utc_now
from rolltop.core.db.types import MAX_VERSION
from rolltop.core.errors import InvalidArgument
from rolltop.core.evidence import Evidence
from rolltop.core.pagination import format_timestamp
from rolltop.core.text.front_matter import parse_front_matter, render_front_matter
from rolltop.toolsets.tasks import input_checks
from rolltop.toolsets.tasks.models import (
    LOWEST_PRIORITY,
    MAX_AUTHOR_LENGTH,
    MAX_LIST_LENGTH,
    PLACES_OF_COMMENT,
    Comment,
)
from rolltop.toolsets.tasks.store import graph, transfer
from rolltop.toolsets.tasks.store.transfer import Lease, StoredTask

_HASH: Final = re.compile(r"[0-9a-f]{64}")


@dataclass
class TaskImport:
    """What became of imported tasks; `kept` are different here, and stay as they are here.

    `ids` maps the ids of those that have others here.
    """

    added: int = 0
    unchanged: int = 0
    kept: int = 0
    refused: list[str] = field(default_factory=list[str])
    ids: dict[str, str] = field(default_factory=dict[str, str])


def read_tasks(tx: Tx) -> Iterator[StoredTask]:
    """Yield all tasks of the caller, those in the trash too, by id."""
    return transfer.read_all(tx)


def import_tasks(tx: Tx, given: Sequence[StoredTask]) -> TaskImport:
    """Import tasks that are not here yet; one whose id is another user's gets an id of its own.

    Raises InvalidArgument if tasks wait for each other, or are each other's parents.
    """
    owner = tx.scope.user_id
    graph.lock_graph(tx, owner)
    here = transfer.read_some(tx, [task.id for task in given])
    own_ids = {
        task.id: str(uuid.uuid5(uuid.UUID(owner), task.id)) for task in given if task.id not in here
    }
    here |= transfer.read_some(tx, [*own_ids.values()])
    ids = {old: own for old, own in own_ids.items() if own in here}
    new = [task for task in given if task.id in own_ids and task.id not in ids]
    transfer.insert_all(tx, new)
    inserted = transfer.read_some(tx, [task.id for task in new])
    ids |= {task.id: own_ids[task.id] for task in new if task.id not in inserted}
    transfer.insert_all(tx, [_with_ids(task, ids) for task in new if task.id in ids])
    result = TaskImport(added=len(new), ids=ids)
    mapped = [_with_ids(task, ids) for task in given]
    for task in mapped:
        if task.id in here:
            result.unchanged += here[task.id] == task
            result.kept += here[task.id] != task
    added = [_with_ids(task, ids) for task in new]
    named = {other for task in added for other in (*task.blocked_by, task.parent_id) if other}
    known = {task.id for task in mapped} | {*transfer.read_some(tx, sorted(named))}
    whole = [_without_unknown(task, known, result.refused) for task in added]
    _require_no_cycle(whole)
    transfer.insert_details(tx, whole)
    return result


def render_task(task: StoredTask) -> bytes:
    """Render a task as a Markdown file in UTF-8."""
    fields = {"id": task.id, **task.data}
    if task.acceptance:
        fields["acceptance"] = list(task.acceptance)
    if task.evidence:
        fields["evidence"] = [vars(one) for one in task.evidence]
    del fields["task_id"], fields["uri"]
    text = fields.pop("description", "")
    if task.deleted_at:
        fields["deleted_at"] = format_timestamp(task.deleted_at)
    if task.lease:
        held = {"by": task.lease.by} if task.lease.by else {}
        until = format_timestamp(task.lease.until)
        fields["claim"] = {**held, "expires_at": until, "token_sha256": task.lease.claim_hash}
    if task.comments:
        fields["comments"] = [
            {
                "version": comment.version,
                "at": format_timestamp(comment.created_at),
                "by": comment.author,
                "text": comment.text,
            }
            for comment in task.comments
        ]
    return render_front_matter(fields, text and f"{text}\n")


def parse_task(data: bytes, name: str, file_modified: float) -> StoredTask:
    """Parse the Markdown file called `name`. Raises InvalidArgument, which names it.

    A file without an id gets one that is the same whenever it is read unchanged; one without
    dates has that of the file.
    """
    try:
        whole = data.decode()
        fields, text = parse_front_matter(whole)
    except ValueError:
        raise InvalidArgument(f"{name} is not a task in UTF-8 text") from None
    given: dict[str, Any] = {
        "status": "pending",
        "version": 1,
        **{key: value for key, value in fields.items() if value is not None},
    }
    if "id" not in given:
        given["id"] = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{name}\n{whole}"))
    try:
        if "created_at" not in given:
            given["created_at"] = _file_moment(file_modified)
        given.setdefault("updated_at", given["created_at"])
        given["lease"] = given.pop("claim", None)
        checks = ((key, check) for key, check in _CHECKS.items() if given.get(key) is not None)
        values = {key: check(given[key]) for key, check in checks}
        description = input_checks.description(text)
    except InvalidArgument as error:
        raise InvalidArgument(f"{name}: {error.message}") from None
    if "title" not in values:
        raise InvalidArgument(f"{name} has no title")
    if any(comment.version > values["version"] for comment in values.get("comments", ())):
        raise InvalidArgument(f"{name} has a comment of a later version than its own")
    return StoredTask(**values, description=description)


def _with_ids(task: StoredTask, ids: Mapping[str, str]) -> StoredTask:
    """Replace the ids that are different here."""
    if not ids:
        return task
    return replace(
        task,
        id=ids.get(task.id, task.id),
        parent_id=task.parent_id and ids.get(task.parent_id, task.parent_id),
        blocked_by=tuple(sorted(ids.get(other, other) for other in task.blocked_by)),
        links=tuple(_renamed_address(link, ids) for link in task.links),
    )


def _renamed_address(uri: str, ids: Mapping[str, str]) -> str:
    try:
        address = parse_address(uri)
    except InvalidArgument:  # of the web
        return uri
    is_renamed = address.kind == "task" and address.id in ids
    return str(replace(address, id=ids[address.id])) if is_renamed else uri


def _without_unknown(task: StoredTask, known: set[str], refused: list[str]) -> StoredTask:
    """Leave out references to tasks that are not here, and say so."""
    unknown = {one for one in (*task.blocked_by, task.parent_id) if one and one not in known}
    refused += [f"task {task.id} refers to {one}, which is no task here" for one in sorted(unknown)]
    return replace(
        task,
        parent_id=None if task.parent_id in unknown else task.parent_id,
        blocked_by=tuple(other for other in task.blocked_by if other not in unknown),
    )


def _require_no_cycle(added: Sequence[StoredTask]) -> None:
    """Raise InvalidArgument for a cycle outside the trash: restoring a task breaks those in it."""
    shown = {task.id: task for task in added if task.deleted_at is None}
    edges: dict[str, Callable[[StoredTask], tuple[str, ...]]] = {
        "blocked_by": lambda task: task.blocked_by,
        "parent_id": lambda task: (task.parent_id,) if task.parent_id else (),
    }
    for name, targets in edges.items():
        waits = {
            task.id: [other for other in targets(task) if other in shown] for task in shown.values()
        }
        try:
            TopologicalSorter(waits).prepare()
        except CycleError as error:
            raise InvalidArgument(
                f"{name} makes tasks wait for each other: {' → '.join(error.args[1])}",
                hint="Take one of these references out of the files; no task was imported.",
            ) from None


def _identifier(value: object) -> str:
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        raise InvalidArgument(f"{value_preview(value)} is no task's id") from None


def _file_moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        raise InvalidArgument("the file's own date is none") from None


def _integer(value: object, lowest: int, highest: int) -> int:
    if type(value) is not int or not lowest <= value <= highest:
        raise InvalidArgument(
            f"{value_preview(value)} is not a whole number from {lowest} to {highest}"
        )
    return value


def _status(value: object) -> str:
    if value not in ("pending", "completed"):
        raise InvalidArgument(f"status is pending or completed, not {value_preview(value)}")
    return str(value)


def _text_list(value: object, check: Callable[[str], str], name: str) -> tuple[str, ...]:
    texts = [str(entry) for entry in _entries(value)]
    return tuple(dict.fromkeys(input_checks.check_each(check, texts, name)))


def _entries(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else [value]


def _evidence(value: object) -> tuple[Evidence, ...]:
    found: list[Evidence] = []
    for given in _entries(value):
        entry = cast("dict[str, Any]", given if isinstance(given, dict) else {"uri": given})
        uri = require_storable(str(entry.get("uri", "")), "evidence")
        digest = require_storable(str(entry.get("sha256", "")), "sha256")
        place = require_storable(str(entry.get("place", "")), "place")
        found.append(Evidence(uri, digest, entry.get("is_only") is True, place))
    return tuple(found[:MAX_LIST_LENGTH])


def _lease(value: object) -> Lease | None:
    given = cast("dict[str, Any]", value if isinstance(value, dict) else {})
    claim_hash, by = str(given.get("token_sha256", "")), given.get("by")
    if not _HASH.fullmatch(claim_hash):
        raise InvalidArgument("a claim has expires_at and token_sha256")
    holder = require_storable(str(by), "by")[:MAX_AUTHOR_LENGTH] if by else None
    return Lease(claim_hash, parse_timestamp(given.get("expires_at")), holder)


def _address(value: object) -> str:
    text = input_checks.assignee(str(value))
    if text is None or not is_email(text):
        raise InvalidArgument("the assignee is no e-mail address")
    return text


def _comments(value: object) -> tuple[Comment, ...]:
    found: dict[int, Comment] = {}
    for given in _entries(value):
        entry = cast("dict[str, Any]", given if isinstance(given, dict) else {})
        if not {"version", "at", "by", "text"} <= entry.keys():
            raise InvalidArgument("a comment has version, at, by and text")
        version = _integer(entry["version"], 1, MAX_VERSION)
        author = require_storable(str(entry["by"]), "by")[:MAX_AUTHOR_LENGTH]
        text = require_storable(str(entry["text"]), "comment")
        if version in found or not 1 <= len(text) < PLACES_OF_COMMENT:
            raise InvalidArgument(f"the comment of version {version} is too long, or one of two")
        found[version] = Comment(version, parse_timestamp(entry["at"]), author, text)
    return tuple(found[version] for version in sorted(found))


_CHECKS: Final[dict[str, Callable[[Any], Any]]] = {
    "id": _identifier,
    "title": lambda value: input_checks.title(str(value)),
    "status": _status,
    "created_at": parse_timestamp,
    "updated_at": parse_timestamp,
    "version": lambda value: _integer(value, 1, MAX_VERSION),
    "project": lambda value: input_checks.project(str(value)),
    "priority": lambda value: _integer(value, 0, LOWEST_PRIORITY),
    "due_at": lambda value: input_checks.parse_due(str(value), utc_now()),
    "tags": lambda value: tuple(sorted(_text_list(value, input_checks.tag, "tags"))),
    "parent_id": _identifier,
    "blocked_by": lambda value: tuple(sorted(_text_list(value, _identifier, "blocked_by"))),
    "links": lambda value: _text_list(value, input_checks.link, "links"),
    "acceptance": lambda value: tuple(
        input_checks.check_each(
            input_checks.criterion, [str(one) for one in _entries(value)], "acceptance"
        )
    ),
    "evidence": _evidence,
    "requires_evidence": bool,
    "reopen_on_change": bool,
    "assignee": _address,
    "deleted_at": parse_timestamp,
    "lease": _lease,
    "comments": _comments,
}
"""How each field of a file is checked."""
