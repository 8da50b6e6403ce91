"""The tools as the SDK wants them, and the server that serves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcp import MCPError
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp_types import (
    INVALID_PARAMS,
    PROTOCOL_VERSION_META_KEY,
    CallToolRequestParams,
    CallToolResult,
    Implementation,
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
from rolltop.core import logs
from rolltop.core.errors import RolltopError, Stopping
from rolltop.core.invoke import Answer, failed, invoke, unexpected
from rolltop.core.registry import UnknownTool
from rolltop.core.schemas import output_schema
from rolltop.core.scope import Scope
from rolltop.server.guard import (
    Route,
    guarded,
    logged_id,
    naming_faults,
    refuse_cursor,
    request_id,
    shown_error,
    while_up,
    with_what_can_be_sent,
    with_whole_params,
)
from rolltop.server.progress import Progress
from rolltop.server.prompts import Prompts
from rolltop.server.resources import Resources

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp.server.caching import CacheableMethod
    from mcp.server.context import ServerRequestContext

    from rolltop.core.desk import Desk
    from rolltop.core.registry import Offer
    from rolltop.server.identity import Identify
    from rolltop.server.subscriptions import Subscriptions

    Context = ServerRequestContext[Any, Any]

_LISTS_LAST: Final = 300_000
CALLER: Final = "rolltop.caller"
"""The key under which an authenticated request's ASGI scope holds its Scope."""
_STRUCTURED_ONLY: Final = "The answer is in the structured content."
_INSTRUCTIONS: Final = (
    "A durable desk for agents: what a tool acknowledges is on disk."
    " A failed call has a code and a hint that names the call which repairs it."
    " An answer that says truncated was cut: send its `next` as it is to go on."
)


def build_server(
    desk: Desk, identify: Identify, subscriptions: Subscriptions, *, http: bool
) -> Server[Any]:
    """Return the SDK's server of the desk's tools, resources and prompts.

    `identify(context)` answers whose a request is. Over HTTP the legacy era has no channel
    for changes, so only stdio offers its subscriptions.
    """
    server = _DeskServer(
        "rolltop",
        title="Rolltop",
        version=__version__,
        instructions=_instructions(desk),
        cache_hints=_cache_hints(http=http),
        # No schema asks for headers of its own, so there is nothing for the SDK to look up.
        get_tool_input_schema=lambda _name: None,
    )
    server.middleware.extend([with_what_can_be_sent, with_whole_params, naming_faults])
    tools, resources = _Tools(desk, identify), Resources(desk, identify)
    routes: list[Route] = [
        ("tools/list", PaginatedRequestParams, tools.list),
        ("subscriptions/listen", SubscriptionsListenRequestParams, subscriptions.listen),
        *resources.routes(),
        *Prompts(desk).routes(),
        *(subscriptions.legacy_routes() if resources.offered and not http else []),
    ]
    for method, params_type, handler in routes:
        server.add_request_handler(method, params_type, guarded(while_up(desk, handler)))
    # A tool says in its own shape that the server is stopping.
    server.add_request_handler("tools/call", CallToolRequestParams, guarded(tools.call))
    return server


class _DeskServer(Server[Any]):
    """The SDK's server, which would announce changes of lists to all who can hear of changes.

    The lists here never change; only resources are updated.
    """

    def get_capabilities(self, *options: Any, **more: Any) -> ServerCapabilities:  # noqa: ANN401  # passed on
        """Return what is offered."""
        offered = super().get_capabilities(*options, **more)
        for part in (offered.tools, offered.prompts, offered.resources):
            if part is not None:
                part.list_changed = False
        return offered


class _Tools:
    """tools/list and tools/call."""

    def __init__(self, desk: Desk, identify: Identify) -> None:
        self._desk = desk
        self._identify = identify
        self._output: str = desk.settings["output"]
        self._described: dict[frozenset[str], ListToolsResult] = {}

    async def list(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        """Return all tools this caller may use, on one page and always in the same order."""
        refuse_cursor(params)
        scope = token_scope(context) or Scope.of("")
        if scope.rights not in self._described:
            offers = self._desk.registry.listed(scope)
            described = [self._describe(offer) for offer in offers]
            self._described[scope.rights] = ListToolsResult(tools=described)
        return self._described[scope.rights]

    async def call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Return the answer of one call; only an unknown tool is a protocol error."""
        progress = Progress(context)
        try:
            with self._desk.calling():
                answer = await self._answer(context, params, progress)
        except UnknownTool as unknown:
            # Its name is the caller's own text, and so stays out of the log.
            _log_failed(context, tool="", code="UNKNOWN_TOOL")
            raise MCPError(INVALID_PARAMS, unknown.message) from None
        finally:
            await progress.finish()
        return _result(answer, self._output)

    async def _answer(
        self, context: Context, params: CallToolRequestParams, progress: Progress
    ) -> Answer:
        identifier = request_id(context)
        offer = self._desk.registry.find(params.name, token_scope(context) or Scope.of(""))
        try:
            scope = await self._identify(context, needed=offer.toolset.needs_store)
        except RolltopError as failure:
            return self._refused(context, offer, failure)
        except Exception as failure:  # noqa: BLE001  # as in every tool: logged, and a reference
            return self._refused(context, offer, unexpected(failure, identifier))
        return await invoke(
            self._desk,
            params.name,
            scope,
            params.arguments or {},
            report=progress.report,
            request_id=identifier,
        )

    def _refused(self, context: Context, offer: Offer, failure: RolltopError) -> Answer:
        """Return the answer of a call that failed before anybody knew whose it is; log it."""
        answer = failed(self._desk, offer.toolset, failure)
        _log_failed(context, tool=offer.tool.name, code=answer.code or "")
        return answer

    def _describe(self, offer: Offer) -> Tool:
        tool = offer.tool
        return Tool(
            name=offer.name,
            title=offer.title,
            description=offer.description,
            input_schema=offer.parameters.schema,
            output_schema=None if self._output == "text" else output_schema(offer.toolset, tool),
            annotations=ToolAnnotations(
                read_only_hint=offer.reads,
                destructive_hint=tool.destructive and not offer.reads,
                idempotent_hint=tool.idempotent or offer.reads,
                open_world_hint=tool.open_world,
            ),
        )


def unserved(desk: Desk, request: JSONRPCRequest, *, begun: bool) -> JSONRPCResponse | JSONRPCError:
    """Return the answer to a request that is served no more: that the server is stopping.

    `begun` says that something may have been done already.
    """
    params = request.params or {}
    try:
        if request.method != "tools/call" or not isinstance(name := params.get("name"), str):
            raise shown_error(Stopping(begun=begun))
        answer = _unserved_call(desk, name, logged_id(request.id), begun=begun)
    except MCPError as failure:
        return JSONRPCError(jsonrpc="2.0", id=request.id, error=failure.error)
    result = _result(answer, desk.settings["output"]).model_dump(
        by_alias=True, mode="json", exclude_none=True
    )
    if PROTOCOL_VERSION_META_KEY not in (params.get("_meta") or {}):
        del result["resultType"]  # the era of the handshake knows none
    return JSONRPCResponse(jsonrpc="2.0", id=request.id, result=result)


def _unserved_call(desk: Desk, name: str, identifier: str, *, begun: bool) -> Answer:
    try:
        offer = desk.registry.find(name, Scope.of(""))
    except UnknownTool as unknown:
        raise MCPError(INVALID_PARAMS, unknown.message) from None
    answer = failed(desk, offer.toolset, Stopping(begun=begun))
    if begun:  # it is logged where it is broken off
        return answer
    logs.call(
        tool=offer.tool.name,
        user="",
        duration_ms=0,
        outcome="error",
        code=answer.code or "",
        request_id=identifier,
    )
    return answer


def _result(answer: Answer, output: str) -> CallToolResult:
    """Return an answer as the setting `output` wants it sent."""
    text = _STRUCTURED_ONLY if output == "structured" else answer.text
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=None if output == "text" else answer.structured,
        is_error=answer.is_error,
    )


def _log_failed(context: Context, *, tool: str, code: str) -> None:
    """Log a call that never came to its tool."""
    caller = token_scope(context)
    logs.call(
        tool=tool,
        user=caller.user_id if caller else "",
        duration_ms=0,
        outcome="error",
        code=code,
        request_id=request_id(context),
    )


def client_name(context: Context) -> str:
    """Return the name the client gives itself; empty where the connection carries none."""
    params = context.session.client_params
    client: Implementation | None = params.client_info if params else None
    return client.name if client else ""


def token_scope(context: Context) -> Scope | None:
    """Return the scope that a token gave this request; None where none was needed."""
    request = context.request
    return request.scope.get(CALLER) if request is not None else None


def _instructions(desk: Desk) -> str:
    """Return what a host tells its model about this server; no stored text is in it."""
    lines = [f"{toolset.name}: {toolset.summary}" for toolset in desk.registry.toolsets]
    return "\n".join([_INSTRUCTIONS, *lines])


def _cache_hints(*, http: bool) -> Mapping[CacheableMethod, CacheHint]:
    """Return how long lists may be kept. Over HTTP they depend on the token."""
    hint = CacheHint(ttl_ms=_LISTS_LAST, scope="private" if http else "public")
    return {
        "tools/list": hint,
        "prompts/list": hint,
        "resources/templates/list": hint,
        "server/discover": hint,
    }
