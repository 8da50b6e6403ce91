"""The tools as the SDK wants them, and the server that serves them."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import Any, Final

from mcp import MCPError
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    PROTOCOL_VERSION_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    JSONRPCError,
    JSONRPCRequest,
    JSONRPCResponse,
    ListToolsResult,
    PaginatedRequestParams,
    ServerCapabilities,
    SubscriptionsListenRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from rolltop import __version__
from rolltop.core import logging
from rolltop.core import skill as skill_file
from rolltop.core.context import AppContext
from rolltop.core.dispatch import (
    Answer,
    RegisteredTool,
    UnknownTool,
    dispatch,
    error_answer,
    internal_error,
)
from rolltop.core.errors import RolltopError, ShuttingDown
from rolltop.core.principal import Principal
from rolltop.core.tool_schema import published_output_schema
from rolltop.server import hosts, views
from rolltop.server.client_roots import ClientRoots
from rolltop.server.error_middleware import (
    Context,
    Route,
    loggable_id,
    map_errors,
    name_invalid_params,
    refuse_cursor,
    replace_lone_surrogates,
    request_id,
    restore_params,
    to_mcp_error,
)
from rolltop.server.identity import LocalUser, PrincipalResolver
from rolltop.server.progress_reporter import ProgressReporter
from rolltop.server.prompts import PromptHandlers
from rolltop.server.resources import ResourceHandlers
from rolltop.server.skills import EXTENSION, SkillHandlers
from rolltop.server.subscriptions import LISTEN, Subscriptions

_LIST_TTL_MS: Final = 300_000
PRINCIPAL_KEY: Final = "rolltop.caller"
"""The key under which an authenticated request's ASGI scope holds its Principal."""
_STRUCTURED_ONLY: Final = "The answer is in the structured content."
_INSTRUCTIONS: Final = "A durable desk: what a tool acknowledges outlives this session."
_LAST_INSTRUCTIONS: Final = (
    "The hint of a failed call names the call that repairs it; a truncated answer's `next`, sent as"
    " it is, goes on."
)


def build_server(
    app: AppContext,
    identify: PrincipalResolver,
    user: LocalUser,
    subscriptions: Subscriptions,
    *,
    http: bool,
) -> Server[Any]:
    """Build the SDK's server of the context's tools, resources and prompts.

    `identify(context)` answers whose a request is, `user` is who needs no token. Over HTTP the
    legacy era has no channel for changes, so only stdio offers its subscriptions.
    """
    server = _StaticListServer(
        "rolltop",
        title="Rolltop",
        version=__version__,
        instructions=_instructions(app),
        cache_hints=_cache_hints(http=http),
        # No schema asks for headers of its own, so there is nothing for the SDK to look up.
        get_tool_input_schema=lambda _name: None,
    )
    server.middleware.extend([replace_lone_surrogates, restore_params, name_invalid_params])
    roots = ClientRoots(app, http=http)
    skill = SkillHandlers() if app.registry.has_tools(skill_file.TOOLS) else None
    resources = ResourceHandlers(app, identify, roots, skill)
    tools = _ToolHandlers(app, identify, user, roots, has_views=bool(resources.views))
    routes: list[Route] = [
        ("tools/list", PaginatedRequestParams, tools.list),
        (LISTEN, SubscriptionsListenRequestParams, subscriptions.listen),
        *resources.routes(),
        *PromptHandlers(app).routes(),
        *(skill.routes() if skill else []),
        *(subscriptions.legacy_routes() if resources.templates and not http else []),
    ]
    for method, params_type, handler in routes:
        server.add_request_handler(method, params_type, map_errors(handler, app))
    # A tool says in its own shape that the server is stopping.
    server.add_request_handler("tools/call", CallToolRequestParams, map_errors(tools.call))
    return server


class _StaticListServer(Server[Any]):
    """The SDK's server, which would announce changes of lists to all who can hear of changes.

    The lists here never change; only resources are updated.
    """

    def get_capabilities(self, *options: Any, **more: Any) -> ServerCapabilities:  # noqa: ANN401  # passed on
        """Return the server's capabilities."""
        offered = super().get_capabilities(*options, **more)
        for part in (offered.tools, offered.prompts, offered.resources):
            if part is not None:
                part.list_changed = False
        if self.get_request_handler("skills/list"):
            offered.extensions = {**(offered.extensions or {}), EXTENSION: {}}
        return offered


class _ToolHandlers:
    """tools/list and tools/call."""

    def __init__(
        self,
        app: AppContext,
        identify: PrincipalResolver,
        user: LocalUser,
        client_roots: ClientRoots,
        *,
        has_views: bool,
    ) -> None:
        self._app = app
        self._has_views = has_views
        self._identify = identify
        self._user = user
        self._client_roots = client_roots
        self._output_mode: str = app.settings["output"]
        self._descriptions: dict[tuple[frozenset[str], bool], ListToolsResult] = {}

    async def list(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Return all tools this caller may use, on one page and always in the same order."""
        refuse_cursor(params)
        scope = token_principal(context) or self._user.at_start
        with_views = self._has_views and views.are_shown(context)
        key = scope.permissions, with_views
        if key not in self._descriptions:
            offers = self._app.registry.list_tools(scope)
            described = [self._describe(offer, with_views=with_views) for offer in offers]
            self._descriptions[key] = ListToolsResult(tools=described)
        return self._descriptions[key]

    async def call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Return the answer of one call; only an unknown tool is a protocol error."""
        progress = ProgressReporter(context)
        try:
            with self._app.track_call():
                answer = await self._answer(context, params, progress)
        except UnknownTool as unknown:
            # Its name is the caller's own text, and so stays out of the log.
            _log_failed_call(context, tool="", code="UNKNOWN_TOOL")
            raise MCPError(INVALID_PARAMS, unknown.message) from None
        finally:
            await progress.finish()
        return _call_result(answer, self._output_mode)

    async def _answer(
        self, context: Context, params: CallToolRequestParams, progress: ProgressReporter
    ) -> Answer:
        identifier, started = request_id(context), perf_counter()
        offer = self._app.registry.find(
            params.name, token_principal(context) or Principal.for_user("")
        )
        try:
            scope = await self._identify(context, needed=offer.toolset.needs_store)
            if offer.toolset.reads_roots:
                await self._client_roots.resolve(context)
        except Exception as failure:  # noqa: BLE001  # as in every tool: logged, and a reference
            if not isinstance(failure, RolltopError):
                failure = internal_error(failure, identifier)
            return self._refuse_call(context, offer, failure, started)
        return await dispatch(
            self._app,
            params.name,
            scope,
            params.arguments or {},
            report=progress.report,
            request_id=identifier,
            max_result_tokens=hosts.max_result_tokens(self._app, context),
        )

    def _refuse_call(
        self,
        context: Context,
        registered: RegisteredTool,
        failure: RolltopError,
        started: float,
    ) -> Answer:
        """Return the answer of a call that failed before anybody knew whose it is; log it."""
        answer = error_answer(self._app, registered.toolset, failure)
        code, reason = answer.code or "", failure.log_reason
        for observe in self._app.call_observers:
            observe(registered.tool.name, code, perf_counter() - started)
        _log_failed_call(context, tool=registered.tool.name, code=code, reason=reason)
        return answer

    def _describe(self, registered: RegisteredTool, *, with_views: bool) -> Tool:
        tool = registered.tool
        return Tool(
            name=registered.name,
            title=registered.title,
            description=registered.description,
            input_schema=registered.parameters.listed_schema,
            output_schema=None
            if self._output_mode == "text"
            else published_output_schema(registered.toolset, tool),
            annotations=ToolAnnotations(
                read_only_hint=registered.is_read_only,
                destructive_hint=tool.destructive and not registered.is_read_only,
                idempotent_hint=tool.idempotent or registered.is_read_only,
                open_world_hint=tool.open_world,
            ),
            _meta=_host_hints(registered, with_views=with_views) or None,
        )


def shutdown_response(
    app: AppContext, request: JSONRPCRequest, *, has_started: bool
) -> JSONRPCResponse | JSONRPCError:
    """Return the answer to a request that is served no more: that the server is stopping.

    `has_started` says that something may have been done already.
    """
    params = request.params or {}
    try:
        if request.method != "tools/call" or not isinstance(name := params.get("name"), str):
            raise to_mcp_error(ShuttingDown(has_started=has_started))
        answer = _shutdown_answer(app, name, loggable_id(request.id), has_started=has_started)
    except MCPError as failure:
        return JSONRPCError(jsonrpc="2.0", id=request.id, error=failure.error)
    result = _call_result(answer, app.settings["output"]).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    if PROTOCOL_VERSION_META_KEY not in (params.get("_meta") or {}):
        del result["resultType"]  # the era of the handshake knows none
    return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


def _shutdown_answer(app: AppContext, name: str, identifier: str, *, has_started: bool) -> Answer:
    try:
        offer = app.registry.find(name, Principal.for_user(""))
    except UnknownTool as unknown:
        raise MCPError(INVALID_PARAMS, unknown.message) from None
    answer = error_answer(app, offer.toolset, ShuttingDown(has_started=has_started))
    if has_started:  # it is logged where it is broken off
        return answer
    logging.call(
        tool=offer.tool.name,
        user="",
        duration_ms=0,
        outcome="error",
        code=answer.code or "",
        request_id=identifier,
    )
    return answer


def _call_result(answer: Answer, output: str) -> CallToolResult:
    """Return an answer as the setting `output` wants it sent."""
    text = _STRUCTURED_ONLY if output == "structured" else answer.text
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=None if output == "text" else answer.structured,
        is_error=answer.is_error,
    )


def _log_failed_call(context: Context, *, tool: str, code: str, reason: str = "") -> None:
    """Log a call that never came to its tool."""
    caller = token_principal(context)
    logging.call(
        tool=tool,
        user=caller.actor_id if caller else "",
        duration_ms=0,
        outcome="error",
        code=code,
        request_id=request_id(context),
        ids={**(logging.caller_ids(caller) if caller else {}), "reason": reason},
    )


def token_principal(context: Context) -> Principal | None:
    """Return the principal of the request's token, or None."""
    request = context.request
    return request.scope.get(PRINCIPAL_KEY) if request is not None else None


def _instructions(app: AppContext) -> str:
    """Return for the host's model when to reach for the tools; no stored text is in it.

    Codex shows the first 250 characters of the first line, and no tool until it is searched for.
    """
    toolsets = sorted(app.registry.toolsets, key=lambda toolset: toolset.name != "desk")
    sentences = [sentence for toolset in toolsets for sentence in toolset.guidance]
    offered = app.registry.offered_sentences(sentences)
    return " ".join([_INSTRUCTIONS, *offered, _LAST_INSTRUCTIONS])


def _host_hints(registered: RegisteredTool, *, with_views: bool) -> dict[str, Any]:
    """Return which tools to have at hand, or to find, on demand; and what draws their answers."""
    tool = registered.tool
    hints: dict[str, Any] = {}
    if tool.is_core:
        hints["anthropic/alwaysLoad"] = True
    elif tool.search_hint:
        hints["anthropic/searchHint"] = tool.search_hint
    if with_views and tool.view:
        hints["ui"] = {"resourceUri": views.uri_of(tool.view)}
    return hints


def _cache_hints(*, http: bool) -> Mapping[CacheableMethod, CacheHint]:
    """Return how long lists may be kept. Over HTTP they depend on the token."""
    hint = CacheHint(ttl_ms=_LIST_TTL_MS, scope="private" if http else "public")
    return {
        "tools/list": hint,
        "prompts/list": hint,
        "resources/templates/list": hint,
        "server/discover": hint,
    }
