"""Resources: templates of what the toolsets keep, reading one, completing its address."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeVar

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
    ResourceTemplate,
    TextResourceContents,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from rolltop.core import tokens
from rolltop.core.arguments import shown, storable
from rolltop.core.call import Call
from rolltop.core.errors import Invalid, NotFound, TimedOut
from rolltop.core.toolset import Contents
from rolltop.server.guard import Route, refuse_cursor, unknown
from rolltop.server.uris import Template

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from mcp.server.context import ServerRequestContext

    from rolltop.core.desk import Desk
    from rolltop.core.toolset import Reference
    from rolltop.server.identity import Identify

    Context = ServerRequestContext[Any, Any]

T = TypeVar("T")
_MOST_COMPLETIONS: Final = 100
_LEGACY_NOT_FOUND: Final = -32002
_SEAM: Final = 2  # tokens that two texts may gain where they meet


class Resources:
    """What the toolsets declare as references, as resources of the protocol."""

    def __init__(self, desk: Desk, identify: Identify) -> None:
        """Read the declarations; touch no store."""
        self._desk = desk
        self._identify = identify
        self.offered: list[tuple[Reference, Template]] = []
        self._without_store = set[str]()
        """The kinds that are read without the store."""
        for toolset in desk.registry.toolsets:
            for reference in toolset.references:
                self.offered.append((reference, Template(reference.template)))
                if not toolset.needs_store:
                    self._without_store.add(reference.kind)

    def routes(self) -> list[Route]:
        """Return the methods to serve; none where no toolset has references."""
        served: list[Route] = [
            ("resources/list", PaginatedRequestParams, self.list),
            ("resources/templates/list", PaginatedRequestParams, self.templates),
            ("resources/read", ReadResourceRequestParams, self.read),
            ("completion/complete", CompleteRequestParams, self.complete),
        ]
        return served if self.offered else []

    async def list(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        """Return no resources: all are reached by templates, tools list what there is."""
        refuse_cursor(params)
        return ListResourcesResult(resources=[])

    async def templates(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        """Return every template, on one page."""
        refuse_cursor(params)
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=reference.template,
                    name=reference.kind,
                    title=reference.title,
                    description=reference.description,
                    mime_type=reference.mime_type,
                )
                for reference, _ in self.offered
            ]
        )

    async def read(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the text of one resource of the caller's own."""
        reference, variables = self._find(context, storable(params.uri, "uri"))
        call = await self._call(context, reference)
        try:
            found = await self._in_time(reference.read(call, **variables))
        except NotFound as missing:
            raise _not_found(context, params.uri, missing.message, missing.hint) from missing
        whole = Contents(found) if isinstance(found, str) else found
        bounded = _within(whole, call.budget)
        contents = TextResourceContents(uri=params.uri, mime_type=reference.mime_type, text=bounded)
        return ReadResourceResult(contents=[contents])

    async def complete(self, context: Context, params: CompleteRequestParams) -> CompleteResult:
        """Return possible values of one variable of a template, best first."""
        if isinstance(params.ref, PromptReference):
            return _completed([])
        known = {reference.template: (reference, its) for reference, its in self.offered}
        if params.ref.uri not in known:
            raise MCPError(INVALID_PARAMS, unknown("resource template", params.ref.uri, known))
        reference, template = known[params.ref.uri]
        if params.argument.name not in template.variables:
            return _completed([])
        call = await self._call(context, reference)
        given = (params.context and params.context.arguments) or {}
        name, prefix = params.argument.name, params.argument.value
        try:
            found = await self._in_time(reference.complete(call, name, prefix, given))
        except (Invalid, NotFound):  # what was typed so far names nothing yet
            found = []
        return _completed(found)

    def _find(self, context: Context, uri: str) -> tuple[Reference, dict[str, str]]:
        for reference, template in self.offered:
            variables = template.match(uri)
            if variables is not None:
                return reference, variables
        kinds = ", ".join(reference.template for reference, _ in self.offered)
        raise _not_found(context, uri, f"Unknown resource {shown(uri)}", f"There are {kinds}.")

    async def _call(self, context: Context, reference: Reference) -> Call:
        needed = reference.kind not in self._without_store
        scope = await self._identify(context, needed=needed)
        limit: int = self._desk.settings["max_result_tokens"]
        return Call(self._desk, scope, f"resource {reference.kind}", limit)

    async def _in_time(self, work: Awaitable[T]) -> T:
        allowed = self._desk.settings["call_timeout"]
        deadline = asyncio.timeout(allowed)
        try:
            async with deadline:
                return await work
        except TimeoutError:
            if not deadline.expired():
                raise
            raise TimedOut(
                f"Reading passed its limit of {allowed:g} s", hint="Try again, or use a tool."
            ) from None


def _within(found: Contents, limit: int) -> str:
    """Return the text, or its first lines of at most `limit` tokens (0: no bound) and a note."""
    text, more = found
    if not limit or (not more and tokens.count(text) <= limit):
        return text
    longest = _cut_note("within", text.count("\n") + 1)
    end = tokens.prefix(text, limit - tokens.count(longest) - _SEAM)
    if end < len(text):
        end = text.rfind("\n", 0, end) + 1 or end
    shown = text[:end].rstrip("\n")
    where = "after" if text.startswith("\n", len(shown)) else "within"
    note = _cut_note(where, shown.count("\n") + 1)
    return f"{shown}\n{note}"


def _cut_note(where: str, line: int) -> str:
    return (
        f"[cut here, {where} line {line}: the resource is longer than max_result_tokens; "
        "a tool reads the rest]"
    )


def _completed(values: Sequence[str]) -> CompleteResult:
    some = values[:_MOST_COMPLETIONS]
    more = len(values) > len(some)
    return CompleteResult(
        completion=Completion(values=list(some), total=len(values), has_more=more)
    )


def _not_found(context: Context, uri: str, message: str, hint: str) -> MCPError:
    """Return the error of a resource that is not there, in the words of the client's era."""
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = INVALID_PARAMS if modern else _LEGACY_NOT_FOUND
    return MCPError(code, message, {"uri": uri, "hint": hint})
