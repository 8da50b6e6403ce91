"""How large an answer a host takes whole: by the name that its client gives itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rolltop.core.settings import DEFAULT_SOURCE, HOST_RESULT_TOKENS, UNKNOWN_HOST_RESULT_TOKENS

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import Implementation

    from rolltop.core.context import AppContext

    Context = ServerRequestContext[Any, Any]


def client_name(context: Context) -> str:
    """Return the name the client gives itself; empty where the connection carries none."""
    params = context.session.client_params
    client: Implementation | None = params.client_info if params else None
    return client.name if client else ""


def max_result_tokens(app: AppContext, context: Context) -> int:
    """Return the largest answer for this caller: the user's setting, else what its host takes.

    A project's file lowers that, too, and never raises it.
    """
    key = "max_result_tokens"
    setting: int = app.settings[key]
    if app.settings.source(key) != DEFAULT_SOURCE and key not in app.settings.lowered:
        return setting
    if name := client_name(context):
        return min(setting, _known_limit(name) or setting)
    request = context.request
    agent = request.headers.get("user-agent", "") if request is not None else ""
    return min(setting, _known_limit(agent) or UNKNOWN_HOST_RESULT_TOKENS)


def _known_limit(name: str) -> int | None:
    """Return the limit of the host whose name a client's begins with, if it is known."""
    folded = name.lower().replace(" ", "-").replace("_", "-")
    found = (limit for host, limit in HOST_RESULT_TOKENS.items() if folded.startswith(host))
    return next(found, None)
