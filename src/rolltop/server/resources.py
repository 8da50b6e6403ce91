"""Resources: templates of what the toolsets keep, reading one, completing its address."""

from __future__ import annotations

import re
from contextlib import contextmanager
from pathlib import PurePosixPath
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import unquote

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    ListResourcesResult,
    ListResourceTemplatesResult,
    PaginatedRequestParams,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextResourceContents,
)
from mcp_types import (
    ResourceTemplate as ListedTemplate,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rolltop.core import logging, token_counter
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import CallContext
from rolltop.core.errors import InvalidArgument, NotFound, RolltopError
from rolltop.core.tools import ResourceContents
from rolltop.server import hosts, skills, views
from rolltop.server.error_middleware import (
    Context,
    Route,
    refuse_cursor,
    request_id,
    unknown_name_message,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Generator, Sequence

    from rolltop.core.context import AppContext
    from rolltop.core.principal import Principal
    from rolltop.core.tools import ResourceTemplate
    from rolltop.server.client_roots import ClientRoots
    from rolltop.server.identity import PrincipalResolver
    from rolltop.server.skills import SkillHandlers

T = TypeVar("T")
_MAX_COMPLETIONS: Final = 100
_LEGACY_NOT_FOUND: Final = -32002
_EXPRESSION: Final = re.compile(r"\{([+#]?)(\w+)\}")
_VALUE_PATTERNS: Final = {
    "": r"(?P<{name}>[^/?#]+)",  # one segment
    "+": r"(?P<{name}>[^?#]+)",  # segments with their slashes
    "#": r"(?:#(?P<{name}>.+))?",  # a fragment, which may be missing
}
_MAX_URI_LENGTH: Final = 8192
_JOIN_TOKENS: Final = 2  # tokens that two texts may gain where they meet


class UriTemplate:
    """A template of the forms `{name}`, `{+name}` and `{#name}`."""

    def __init__(self, text: str) -> None:
        """Compile the template. Raises ValueError for other forms of expressions."""
        literals = _EXPRESSION.split(text)[::3]
        if any(mark in literal for literal in literals for mark in "{}"):
            raise ValueError(f"{text} has an expression of a form that cannot be matched")
        pattern = re.escape(literals[0])
        for found, literal in zip(_EXPRESSION.finditer(text), literals[1:], strict=True):
            pattern += _VALUE_PATTERNS[found[1]].format(name=found[2]) + re.escape(literal)
        self._pattern = re.compile(pattern)
        self.variables = tuple(self._pattern.groupindex)
        """The names of its variables, in order."""

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the decoded variables the address has; None if it is no such address.

        Values that climb (`..`) or hold NUL or bytes that are no UTF-8 match nothing.
        """
        found = self._pattern.fullmatch(uri) if len(uri) <= _MAX_URI_LENGTH else None
        if found is None:
            return None
        try:
            given = {n: unquote(v, errors="strict") for n, v in found.groupdict().items() if v}
        except UnicodeDecodeError:
            return None
        return given if all(_is_safe(value) for value in given.values()) else None


def _is_safe(value: str) -> bool:
    return "\0" not in value and ".." not in PurePosixPath(value.replace("\\", "/")).parts


class ResourceHandlers:
    """What the toolsets declare as references, as resources of the protocol."""

    def __init__(
        self,
        app: AppContext,
        identify: PrincipalResolver,
        client_roots: ClientRoots,
        skill: SkillHandlers | None,
    ) -> None:
        """Read the declarations; touch no store."""
        self._skill = skill
        self._desk = app
        self._identify = identify
        self._client_roots = client_roots
        toolsets = app.registry.toolsets
        self._toolsets = {one.kind: each for each in toolsets for one in each.resource_templates}
        self.templates = [
            (one, UriTemplate(one.template)) for each in toolsets for one in each.resource_templates
        ]
        tools = (tool for toolset in toolsets for tool in toolset.tools)
        self.views = [tool.view for tool in tools if tool.view] if self.templates else []
        """The views of the tools' answers."""

    def routes(self) -> list[Route]:
        """Return the methods to serve; none where no toolset has references."""
        served: list[Route] = [
            ("resources/list", PaginatedRequestParams, self.list),
            ("resources/templates/list", PaginatedRequestParams, self.list_templates),
            ("resources/read", ReadResourceRequestParams, self.read),
            ("completion/complete", CompleteRequestParams, self.complete),
        ]
        return served if self.templates else []

    async def list(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Return the skill, and the views for a host that shows such.

        All else is reached by templates, and tools list what there is.
        """
        refuse_cursor(params)
        shown = self.views if views.are_shown(context) else []
        listed = [self._skill.resource] if self._skill else []
        return ListResourcesResult(resources=[*listed, *map(views.describe, shown)])

    async def list_templates(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Return every template, on one page."""
        refuse_cursor(params)
        return ListResourceTemplatesResult(
            resource_templates=[
                ListedTemplate(
                    uri_template=reference.template,
                    name=reference.kind,
                    title=reference.title,
                    description=reference.description,
                    mime_type=reference.mime_type,
                )
                for reference, _ in self.templates
            ]
        )

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the text of one resource of the caller's own, the skill or a view."""
        if self._skill is not None and params.uri == skills.URI:
            return ReadResourceResult(contents=[self._skill.contents])
        for view in self.views:
            if params.uri == views.uri_of(view):
                return ReadResourceResult(contents=[views.read(view)])
        reference, variables = self._find(context, require_storable(params.uri, "uri"))
        try:
            with _log_reading(context, reference) as known:
                known.append(await self._caller(context, reference))
                call = await self._call(context, reference, known[0])
                found = await self._with_deadline(reference.read(call, **variables))
        except NotFound as missing:
            raise _not_found(context, params.uri, missing.message, missing.hint) from missing
        whole = ResourceContents(found) if isinstance(found, str) else found
        bounded = _truncate_contents(whole, call.budget)
        contents = TextResourceContents(uri=params.uri, mime_type=reference.mime_type, text=bounded)
        return ReadResourceResult(contents=[contents])

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Return possible values of one variable of a template, best first."""
        if isinstance(params.ref, PromptReference):
            return _completion_result([])
        known = {reference.template: (reference, its) for reference, its in self.templates}
        if params.ref.uri not in known:
            raise MCPError(
                INVALID_PARAMS, unknown_name_message("resource template", params.ref.uri, known)
            )
        reference, template = known[params.ref.uri]
        if params.argument.name not in template.variables:
            return _completion_result([])
        call = await self._call(context, reference, await self._caller(context, reference))
        given = (params.context and params.context.arguments) or {}
        name, prefix = params.argument.name, params.argument.value
        try:
            found = await self._with_deadline(reference.complete(call, name, prefix, given))
        except (InvalidArgument, NotFound):  # what was typed so far names nothing yet
            found = []
        return _completion_result(found)

    def _find(self, context: Context, uri: str) -> tuple[ResourceTemplate, dict[str, str]]:
        for reference, template in self.templates:
            variables = template.match(uri)
            if variables is not None:
                return reference, variables
        kinds = ", ".join(reference.template for reference, _ in self.templates)
        raise _not_found(
            context, uri, f"Unknown resource {value_preview(uri)}", f"There are {kinds}."
        )

    async def _caller(self, context: Context, reference: ResourceTemplate) -> Principal:
        needed = self._toolsets[reference.kind].needs_store
        return await self._identify(context, needed=needed)

    async def _call(
        self, context: Context, reference: ResourceTemplate, scope: Principal
    ) -> CallContext:
        if self._toolsets[reference.kind].reads_roots:
            await self._client_roots.resolve(context)
        limit = hosts.max_result_tokens(self._desk, context)
        return CallContext(self._desk, scope, _logged_name(reference), limit, max_budget=limit)

    async def _with_deadline(self, work: Awaitable[T]) -> T:
        async with self._desk.deadline("Reading", "Try again, or use a tool."):
            return await work


def _logged_name(reference: ResourceTemplate) -> str:
    return f"resource {reference.kind}"


@contextmanager
def _log_reading(context: Context, reference: ResourceTemplate) -> Generator[list[Principal]]:
    """Log a resource's reading as calls are logged, by its kind: who, how long, how it ended.

    Whoever reads is put into the list once that is known.
    """
    known: list[Principal] = []
    started, outcome, code, reason = perf_counter(), "cancelled", "", ""
    try:
        yield known
    except RolltopError as failure:
        outcome, code, reason = "error", failure.code, failure.log_reason
        raise
    except Exception:
        outcome = "fault"
        raise
    else:
        outcome = "ok"
    finally:
        logging.call(
            tool=_logged_name(reference),
            user=known[0].actor_id if known else "",
            duration_ms=(perf_counter() - started) * 1000,
            outcome=outcome,
            code=code,
            request_id=request_id(context),
            ids={**(logging.caller_ids(known[0]) if known else {}), "reason": reason},
        )


def _truncate_contents(found: ResourceContents, limit: int) -> str:
    """Return the text, or its first lines of at most `limit` tokens (0: no bound) and a note."""
    text, more = found
    if not limit or (not more and token_counter.count(text) <= limit):
        return text
    longest = _truncation_note("within", text.count("\n") + 1)
    end = token_counter.prefix_length(text, limit - token_counter.count(longest) - _JOIN_TOKENS)
    if end < len(text):
        end = text.rfind("\n", 0, end) + 1 or end
    shown = text[:end].rstrip("\n")
    where = "after" if text.startswith("\n", len(shown)) else "within"
    note = _truncation_note(where, shown.count("\n") + 1)
    return f"{shown}\n{note}"


def _truncation_note(where: str, line: int) -> str:
    return (
        f"[cut here, {where} line {line}: the resource is longer than max_result_tokens; "
        "a tool reads the rest]"
    )


def _completion_result(values: Sequence[str]) -> CompleteResult:
    some = values[:_MAX_COMPLETIONS]
    more = len(values) > len(some)
    return CompleteResult(
        completion=Completion(values=list(some), total=len(values), has_more=more)
    )


def _not_found(context: Context, uri: str, message: str, hint: str) -> MCPError:
    """Return the error of a resource that is not there, in the words of the client's era."""
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = INVALID_PARAMS if modern else _LEGACY_NOT_FOUND
    return MCPError(code, message, {"uri": uri, "hint": hint})
