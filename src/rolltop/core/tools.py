"""What a toolset declares: its tools, settings, jobs, resources, prompts and error shape.

A declaration is data. The server, the command line, the reference pages and the generic
tests are all derived from it, so a new toolset changes no file in `core` or `server`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from rolltop.core.errors import RolltopError
from rolltop.core.pagination import Continuation, add_continuation

if TYPE_CHECKING:
    from rolltop.core.settings import Setting, Settings

JsonObject = dict[str, Any]
ToolFunction = Callable[..., Awaitable[object]]

ACTION = "action"
"""The parameter that selects what a tool does, where it does several things."""
MISSING = "missing"
TYPE = "type"
VALUE = "value"


@dataclass(frozen=True)
class ArgumentErrorCode:
    """The code (and fixed text) a toolset's page gives to a bad value of one parameter.

    `when` names the failures it stands for: MISSING (left out or null), TYPE, VALUE (right
    type, not allowed). Other failures of the parameter keep the toolset's argument code.
    """

    code: str
    message: str = ""
    when: frozenset[str] = frozenset({TYPE, VALUE})


@dataclass(frozen=True)
class Alias:
    """Another name of a tool, from its seed, with the arguments that name fixes.

    It takes the tool's other parameters, or those named in `parameters` only, `required` ones among
    them. Where the seed's name is the tool's own, all are taken, and those are listed.
    """

    name: str
    fixed_arguments: Mapping[str, object] = field(default_factory=dict[str, object])
    title: str = ""
    description: str = ""
    parameters: tuple[str, ...] | None = None
    required: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tool:
    """One tool: an async function `(call, **arguments)` whose docstring the model reads.

    The function returns a JSON object, or a `pagination.Page` or `TextPage` that may be
    truncated. Reads, lists and searches accept `max_tokens`, those that continue `cursor`;
    `default_budget` stands for a `max_tokens` that is left out, None for the setting. What creates
    or appends accepts `idempotency_key`, and writes by `CallContext.write_once`.
    `output` is the shape of a list's answers, which tools/list publishes.
    `argument_hints` maps arguments that callers expect to a sentence on what to use instead.
    An optional argument that is "" is left out, save those in `blank_values`.
    `adapt` turns arguments as other servers' tools take them into its own, before any is checked.
    `other_names` are accepted in calls and never listed. Hosts that load tools on demand are asked
    to have those that are `is_core` at hand always, and find others by `search_hint` too.
    Of a tool with actions, `reading_actions` are those that only read.
    `view` names what draws its answers in hosts that show views.
    """

    name: str
    function: ToolFunction
    title: str
    output: type | None = None
    is_read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False
    accepts_max_tokens: bool = False
    default_budget: int | None = None
    accepts_cursor: bool = False
    accepts_idempotency_key: bool = False
    aliases: tuple[Alias, ...] = ()
    reading_actions: tuple[str, ...] = ()
    argument_errors: Mapping[str, ArgumentErrorCode] = field(
        default_factory=dict[str, ArgumentErrorCode]
    )
    argument_hints: Mapping[str, str] = field(default_factory=dict[str, str])
    adapt: Callable[[JsonObject], JsonObject] | None = None
    blank_values: frozenset[str] = frozenset()
    other_names: tuple[str, ...] = ()
    is_core: bool = False
    search_hint: str = ""
    view: str = ""

    @property
    def other_aliases(self) -> tuple[Alias, ...]:
        """The seed names that are not the tool's own."""
        return tuple(alias for alias in self.aliases if alias.name != self.name)

    @property
    def description(self) -> str:
        """The function's docstring, without its indentation."""
        return "\n".join(line.strip() for line in (self.function.__doc__ or "").split("\n")).strip()


class ResourceContents(NamedTuple):
    """The text of a resource; `is_truncated` if it is the beginning of a longer one."""

    text: str
    is_truncated: bool = False


@dataclass(frozen=True)
class ResourceTemplate:
    """A kind of resource, `rolltop://kind/…`, with its reader and its completions.

    `read(call, **variables)` returns the resource's text, or `ResourceContents`.
    `complete(call, variable, prefix, context)` returns possible values of a template variable,
    best first; all that it finds: the server shows the first hundred, and counts them.
    """

    kind: str
    template: str
    title: str
    description: str
    mime_type: str
    read: Callable[..., Awaitable[str | ResourceContents]]
    complete: Callable[..., Awaitable[list[str]]]


@dataclass(frozen=True)
class PromptArgument:
    """An argument of a prompt; always text."""

    name: str
    description: str
    required: bool = False


@dataclass(frozen=True)
class Prompt:
    """A prompt the host may show; `render(arguments)` returns the user message's text.

    The arguments are marks that stand for what is given: it puts them into the text as they are.
    `tools` are those it tells the model to call: without one of them it is not listed.
    """

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    render: Callable[[Mapping[str, str]], str]
    tools: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """Background work: `run(app)` every `interval` seconds while the server is up.

    `interval` may be a function of the settings; the first run comes after `initial_delay`.
    """

    name: str
    interval: float | Callable[[Settings], float]
    run: Callable[..., Awaitable[None]]
    initial_delay: float | None = None


@dataclass(frozen=True)
class Toolset:
    """The declaration of a toolset.

    `shape_error(error)` puts an error into the toolset's own shape, which has the `error_fields`;
    `with_continuation(result, continuation)` says in the toolset's own envelope
    how a truncated answer continues. `error_codes` lists every code of its tools with a line.
    `service` is the `module:Class` of the object that does the work (`AppContext.load_service`).
    `undo` is the `module:function` that takes back what the journal says of the kinds
    `journal_kinds`: `function(app, tx, entries, texts)`, of one operation, raises UndoConflict.
    `undo_guard` is that of a context manager around all the operations of an undo, which raises it
    at the end if things may not stay so, and does what is done once for all of them:
    `function(tx, entries)`.
    `earlier` is the `module:function` that reads the things of a kind as they were:
    `function(app, tx, snapshot, kind, ref)` maps ids to an EarlierThing, or None for what was not
    there: that of one thing whole, or without `ref` of all that was changed since.
    `evidence` maps the kinds of addresses that may prove something to the `module:function` that
    resolves them: `await function(call, address, strictly=…)` returns a record's whole id and a
    sha256, and raises NotFound, or InvalidArgument for what proves nothing.
    `gauges` is the `module:function` that counts for all users what the store holds now:
    `function(tx)` maps what `/metrics` calls it to a number. `file_gauges` does so for what lies in
    this machine's files: `function(app)`, which may block.
    `close(app)` is called once, on a thread, when the process ends and before the store
    closes: it has a fraction of a second and may not wait for anything.
    `check_settings(settings)` raises InvalidConfig if settings contradict each other.
    `guidance` says to the host's model when to reach for the tools, a sentence each; one that
    names a tool that is not offered is left out.
    Without `needs_store` calls are answered before the store is open and while it is out of
    reach, for a principal whose user may be unknown. What `reads_roots` reads files in the roots.
    Without a seed, answers are the same under the seeds' names.
    """

    name: str
    summary: str
    tools: tuple[Tool, ...]
    error_codes: Mapping[str, str]
    shape_error: Callable[[RolltopError], JsonObject]
    error_fields: tuple[str, ...] = ("error",)
    with_continuation: Callable[[JsonObject, Continuation], JsonObject] = add_continuation
    service: str = ""
    undo: str = ""
    undo_guard: str = ""
    earlier: str = ""
    journal_kinds: tuple[str, ...] = ()
    evidence: Mapping[str, str] = field(default_factory=dict[str, str])
    gauges: str = ""
    file_gauges: str = ""
    settings: tuple[Setting, ...] = ()
    jobs: tuple[Job, ...] = ()
    close: Callable[..., None] | None = None
    resource_templates: tuple[ResourceTemplate, ...] = ()
    prompts: tuple[Prompt, ...] = ()
    check_settings: Callable[[Settings], None] | None = None
    guidance: tuple[str, ...] = ()
    needs_store: bool = True
    has_seed: bool = True
    reads_roots: bool = False
    argument_code: str = "INVALID_ARGUMENT"
    text_code: str = "INVALID_TEXT"
