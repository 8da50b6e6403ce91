"""The tools of the desk: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from rolltop.core.arguments import QueryText
from rolltop.core.context import CallContext
from rolltop.core.pagination import Page
from rolltop.core.tools import Tool
from rolltop.toolsets.desk.models import (
    JournalAnswer,
    LinkAnswer,
    Relation,
    ResumeAnswer,
    SearchAnswer,
    UndoAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.desk.service import DeskService

SERVICE: Final = "rolltop.toolsets.desk.service:DeskService"

Text = str | None
Since = Annotated[int | str | None, Field(description="Exclusive: sequence or time")]
AsOf = Annotated[str | None, Field(description="As it was then; no files")]
Actor = Annotated[str | None, Field(description="Client")]


async def desk_resume(call: CallContext, project: Text = None) -> ResumeAnswer:
    """Show where the work stands: in work, ready, blocked; touched last, changed by others, broken.

    For the start of a session. Others' changes are those since you last wrote.
    """
    service: DeskService = call.app.load_service(SERVICE)
    return await service.resume(call, project)


async def desk_search(
    call: CallContext,
    query: Annotated[QueryText, Field(description='-word, "phrase"')],
    kinds: list[Literal["note", "pad", "cell", "task", "file"]] | None = None,
    project: Text = None,
    tags: list[str] | None = None,
    since: Annotated[Text, Field(description="Changed after")] = None,
    as_of: AsOf = None,
) -> Page:
    """Search notes, pads, tasks, code and documents at once, best first."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.search(call, query, kinds, project, tags, since, as_of)


async def desk_read(
    call: CallContext,
    uri: Annotated[str, Field(description="rolltop://note/1a2b3c4d#L5-9")],
    as_of: AsOf = None,
) -> dict[str, Any]:
    """Open any rolltop:// address that an answer shows as uri; @3 after an id names a version."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.read(call, uri, as_of)


async def desk_history(
    call: CallContext,
    uri: Text = None,
    since: Since = None,
    actor: Actor = None,
    project: Text = None,
    tool: Text = None,
) -> Page:
    """List what was changed on the desk, newest first: by whom, how, and whether undone."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.list_history(call, uri, _text(since), actor, project, tool)


async def desk_changes(
    call: CallContext,
    since: Since = None,
    wait_seconds: Annotated[int, Field(ge=0, le=50)] = 0,
    project: Text = None,
) -> Page:
    """List every change after a sequence number, once and in order; can wait for the first."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.list_changes(call, _text(since), wait_seconds, project)


async def desk_undo(
    call: CallContext,
    operation: Annotated[str | None, Field(description="From desk_history")] = None,
    since: Since = None,
    actor: Actor = None,
    project: Text = None,
    dry_run: bool = False,
) -> UndoAnswer:
    """Undo one operation, or all after since (yours or an actor's).

    All or nothing; an undo can be undone.
    """
    service: DeskService = call.app.load_service(SERVICE)
    return await service.undo(call, operation, _text(since), actor, project, dry_run=dry_run)


async def desk_link(
    call: CallContext,
    from_: str,
    relation: Relation,
    to: Annotated[str, Field(description="rolltop:// or https://, as from")],
    remove: bool = False,
) -> LinkAnswer:
    """Link two things, shown by desk_read from both; what is superseded ranks lower."""
    service: DeskService = call.app.load_service(SERVICE)
    return await service.link(call, from_, to, relation, remove=remove)


def _text(since: int | str | None) -> str | None:
    return None if since is None else str(since)


_LIMIT_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("limit", "count", "n", "max_results", "top_k", "last"),
    "max_tokens says how much to answer; cursor goes on.",
)
_UNDO_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("last", "steps", "count", "uri", "task_id"),
    "desk_history shows the id of each operation; uri narrows it to one thing.",
)

TOOLS: Final = (
    Tool(
        "desk_resume",
        desk_resume,
        "Resume",
        ResumeAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        default_budget=800,
        is_core=True,
        search_hint="where was I status overview",
    ),
    Tool(
        "desk_search",
        desk_search,
        "Search everything",
        SearchAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        default_budget=1500,
        accepts_cursor=True,
        argument_hints=_LIMIT_HINTS,
        is_core=True,
        view="search",
    ),
    Tool(
        "desk_read",
        desk_read,
        "Open an address",
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        is_core=True,
    ),
    Tool(
        "desk_history",
        desk_history,
        "Show what was changed",
        JournalAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        argument_hints=_LIMIT_HINTS,
        search_hint="journal log versions",
        view="diff",
    ),
    Tool(
        "desk_changes",
        desk_changes,
        "Follow changes",
        JournalAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        argument_hints=_LIMIT_HINTS,
        search_hint="feed poll subscribe",
    ),
    Tool(
        "desk_undo",
        desk_undo,
        "Undo",
        UndoAnswer,
        destructive=True,
        argument_hints=_UNDO_HINTS,
        search_hint="revert roll back restore",
    ),
    Tool(
        "desk_link",
        desk_link,
        "Link two things",
        LinkAnswer,
        idempotent=True,
        search_hint="relate supersede duplicate",
    ),
)
