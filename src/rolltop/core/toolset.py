"""What a toolset declares: its tools, settings, jobs, resources, prompts and error shape.

A declaration is data. The server, the command line, the reference pages and the generic
tests are all derived from it, so a new toolset changes no file in `core` or `server`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rolltop.core.budget import Continuation
    from rolltop.core.errors import RolltopError
    from rolltop.core.settings import Setting, Settings

JsonObject = dict[str, Any]
ToolFunction = Callable[..., Awaitable[object]]

MISSING = "missing"
TYPE = "type"
VALUE = "value"


@dataclass(frozen=True)
class Fault:
    """The code (and fixed text) a toolset's page gives to a bad value of one parameter.

    `when` names the failures it stands for: MISSING (left out or null), TYPE, VALUE (right
    type, not allowed). Other failures of the parameter keep the toolset's argument code.
    """

    code: str
    message: str = ""
    when: frozenset[str] = frozenset({TYPE, VALUE})


@dataclass(frozen=True)
class SeedName:
    """Another name of a tool, from its seed, with the arguments that name fixes."""

    name: str
    fixed: Mapping[str, object] = field(default_factory=dict[str, object])
    title: str = ""
    description: str = ""


@dataclass(frozen=True)
class Actions:
    """The parameter that selects what a tool does, and the actions that only read."""

    parameter: str
    reading: tuple[str, ...]


@dataclass(frozen=True)
class Tool:
    """One tool: an async function `(call, **arguments)` whose docstring the model reads.

    The function returns a JSON object, or a `budget.Page` or `budget.Text` that may be cut.
    `reads` says that it changes nothing. `bounded` tools (reads, lists, searches) also take
    `max_tokens`; `continues` says that the tool takes `cursor` as well. `elsewhere` says of
    arguments that callers expect how what they are for is done, in a sentence.
    """

    name: str
    function: ToolFunction
    title: str
    output: type
    reads: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    bounded: bool = False
    continues: bool = False
    seeds: tuple[SeedName, ...] = ()
    actions: Actions | None = None
    faults: Mapping[str, Fault] = field(default_factory=dict[str, Fault])
    elsewhere: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def description(self) -> str:
        """The function's docstring, without its indentation."""
        return "\n".join(line.strip() for line in (self.function.__doc__ or "").split("\n")).strip()


class Contents(NamedTuple):
    """The text of a resource; `more`: it is the beginning of one too long to be read whole."""

    text: str
    more: bool = False


@dataclass(frozen=True)
class Reference:
    """A kind of resource, `rolltop://kind/…`, with its reader and its completions.

    `read(call, **variables)` answers the resource's text, or `Contents`. `complete(call, variable,
    prefix, context)` answers possible values of a template variable, best first.
    """

    kind: str
    template: str
    title: str
    description: str
    mime_type: str
    read: Callable[..., Awaitable[str | Contents]]
    complete: Callable[..., Awaitable[list[str]]]


@dataclass(frozen=True)
class PromptArgument:
    """An argument of a prompt; always text."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True)
class Prompt:
    """A prompt the host may offer; `render(arguments)` answers the user message's text.

    `tools` are those it tells the model to call: without one of them it is not offered.
    """

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Mapping[str, str]], str]
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """Background work: `run(desk)` every `every` seconds while the server is up.

    `every` may be a function of the settings; `first` are the seconds until the first run, where
    it is not to wait as long.
    """

    name: str
    every: float | Callable[[Settings], float]
    run: Callable[..., Awaitable[None]]
    first: float | None = None


@dataclass(frozen=True)
class Toolset:
    """The door of a toolset.

    `shape_error(error)` puts an error into the toolset's own shape and `error_output` is that
    shape as a type; `continued(result, continuation)` says in the toolset's own envelope how a
    cut answer goes on. `codes` lists every code its tools may answer, with a line on each.
    `closing(desk)` is called once, on a thread, when the process ends and before the store
    closes: it has a fraction of a second and may not wait for anything.
    `check(settings)` raises ConfigInvalid where settings do not go together.
    `needs_store` says that calls are of no use without the store; where not, they are answered
    before it is open, or while it is out of reach, by a scope that may not know its user.
    """

    name: str
    summary: str
    tools: tuple[Tool, ...]
    codes: Mapping[str, str]
    shape_error: Callable[[RolltopError], JsonObject]
    error_output: type
    continued: Callable[[JsonObject, Continuation], JsonObject]
    settings: tuple[Setting, ...] = ()
    jobs: tuple[Job, ...] = ()
    closing: Callable[..., None] | None = None
    references: tuple[Reference, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    check: Callable[[Settings], None] | None = None
    needs_store: bool = True
    argument_code: str = "INVALID_ARGUMENT"
    text_code: str = "INVALID_TEXT"
    unavailable_code: str = "UNAVAILABLE"
    timeout_code: str = "TIMEOUT"
