"""`rolltop hook`: what the hooks of a host print at the moments at which a model forgets.

Hosts take it that a hook which ends with 2 forbids what it was told of, so none does.
"""

from __future__ import annotations

import json
import os
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from rolltop.cli import client_configs, local_context, options
from rolltop.core.addresses import SCHEME
from rolltop.core.context import ignore_progress
from rolltop.core.principal import Principal

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Mapping

    from rolltop.cli.client_configs import Client
    from rolltop.core.dispatch import Answer
    from rolltop.core.settings import Settings

_EVENTS: Final = ("session-start", "pre-compact", "session-end")
_FILES: Final = f"{SCHEME}file/"
_NAMING_BUDGET: Final = {"max_tokens": 5000}
"""For an answer of which the tasks alone are named: all of them with their addresses."""
_MAX_NAMED: Final = 5
"""Tasks in work that are named before a compaction and at a session's end; more are counted."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    names = [client.name for client in client_configs.clients() if client.hooks]
    parser.add_argument("event", metavar="EVENT", choices=_EVENTS, help=", ".join(_EVENTS))
    parser.add_argument(
        "--for",
        dest="client",
        metavar="CLIENT",
        choices=names,
        default=names[0],
        help=f"whose hook it is: {', '.join(names)}",
    )
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print what the host wants at this event, if there is anything to say."""
    answer = _resume(arguments)
    if answer is None:
        return 0
    if answer.is_error:
        print(f"rolltop: {answer.text}", file=sys.stderr)  # noqa: T201  # the host shows it
        return 1
    if _is_about_the_desk(answer.structured):
        options.print_line(_say(arguments.event, arguments.client, answer))
    return 0


def _is_about_the_desk(resumed: Mapping[str, Any]) -> bool:
    """Whether anything is named that the desk keeps: files alone are there without it."""
    lists: list[list[dict[str, Any]]] = [one for one in resumed.values() if isinstance(one, list)]
    return any(not item.get("uri", "").startswith(_FILES) for some in lists for item in some)


def _resume(arguments: Namespace) -> Answer | None:
    """Return the answer of desk_resume; None without a store, or where that is not offered."""
    (client,) = (one for one in client_configs.clients() if one.name == arguments.client)
    with local_context.open_context(_read_settings(arguments, client)) as context:
        if not context.database.exists() or not context.registry.has_tools(["desk_resume"]):
            return None
        tool = context.registry.find("desk_resume", Principal.for_user(""))
        given = {} if arguments.event == "session-start" else _NAMING_BUDGET
        return local_context.call_tool(context, tool, given, ignore_progress, actor=client.actor)


def _read_settings(arguments: Namespace, client: Client) -> Settings:
    """Return the settings of the server that the client's entry starts, and of this command.

    Raises InvalidConfig.
    """
    entry = client.read_entry()
    parser = options.EntryParser(allow_abbrev=False)
    options.add_identity(parser)
    options.add_settings(parser)
    known = vars(parser.parse_args([*client_configs.desk_options(entry.args)]))
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    both = Namespace(**{**known, **given, "set": [*known["set"], *given["set"]]})
    # Not settings alone stand there: the home, a proxy, what PostgreSQL's library reads.
    os.environ.update(entry.environment)
    return options.read_settings(both)


def _say(event: str, client: str, answer: Answer) -> str:
    """Return the text of an event, in the form that the client takes it in."""
    if event == "session-start":
        text = f"Where the work stands, from Rolltop's desk_resume: {answer.text}"
        said: dict[str, Any] = {"hookEventName": "SessionStart", "additionalContext": text}
        return _encode({"hookSpecificOutput": said})
    named = _name_tasks(answer.structured)
    if event == "session-end":
        text = f"Left on the desk: {named}. The next session goes on from desk_resume."
    elif client == "claude-code":  # adds plain text to what it asks of the summary, with no tools
        return (
            "Say in the summary which decisions and findings Rolltop does not hold yet, for "
            "note_save to keep right after it, and how far each task got, for update_task with a "
            f"comment. Keep these addresses in the summary: {named}."
        )
    else:
        text = (
            "Keep with Rolltop what is not there yet before it is forgotten: decisions and "
            "findings with note_save, how far a task got with update_task and a comment. "
            f"Keep these addresses in the summary: {named}."
        )
    return _encode({"systemMessage": text})


def _name_tasks(resumed: Mapping[str, Any]) -> str:
    """Name the tasks in work, else those that are ready."""
    for name, title in (("in_work", "in work"), ("ready", "ready")):
        tasks = resumed.get(name, [])
        if tasks:
            shown = [
                f"{_encode(task['title'])} ({task.get('uri', '')})" for task in tasks[:_MAX_NAMED]
            ]
            more = [f"{len(tasks) - _MAX_NAMED} more"] if len(tasks) > _MAX_NAMED else []
            return f"{title} {', '.join([*shown, *more])}"
    return "no open task"


def _encode(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
