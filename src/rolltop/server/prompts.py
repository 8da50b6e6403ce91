"""Prompts: what the toolsets offer a person to start from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    PromptMessage,
    TextContent,
)
from mcp_types import Prompt as ListedPrompt
from mcp_types import PromptArgument as ListedArgument

from rolltop.core.arguments import storable
from rolltop.server.guard import Route, refuse_cursor, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mcp.server.context import ServerRequestContext

    from rolltop.core.desk import Desk
    from rolltop.core.toolset import Prompt

    Context = ServerRequestContext[Any, Any]


class Prompts:
    """What the toolsets declare as prompts, as prompts of the protocol."""

    def __init__(self, desk: Desk) -> None:
        """Read the declarations."""
        self._registry = desk.registry
        toolsets = desk.registry.toolsets
        prompts = [prompt for toolset in toolsets for prompt in toolset.prompts]
        self.offered = {p.name: p for p in prompts if desk.registry.offers(p.tools)}

    def routes(self) -> list[Route]:
        """Return the methods to serve; none where no toolset offers a prompt."""
        served: list[Route] = [
            ("prompts/list", PaginatedRequestParams, self.list),
            ("prompts/get", GetPromptRequestParams, self.get),
        ]
        return served if self.offered else []

    async def list(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """Return every prompt, on one page."""
        refuse_cursor(params)
        return ListPromptsResult(prompts=[_listed(prompt) for prompt in self.offered.values()])

    async def get(self, _context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the message of one prompt with its arguments filled in."""
        prompt = self.offered.get(params.name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, unknown("prompt", params.name, self.offered))
        given = params.arguments or {}
        names = [argument.name for argument in prompt.arguments]
        for name in given:
            if name not in names:
                raise MCPError(INVALID_PARAMS, unknown("argument", name, names))
        for argument in prompt.arguments:
            if argument.required and not given.get(argument.name):
                message = f"The prompt {prompt.name} needs its argument {argument.name}"
                raise MCPError(INVALID_PARAMS, message, {"hint": argument.description})
        for name, value in given.items():
            storable(value, name)
        text = self._as_listed(prompt.render(given), given.values())
        message = PromptMessage(role="user", content=TextContent(text=text))
        return GetPromptResult(description=prompt.description, messages=[message])

    def _as_listed(self, text: str, given: Iterable[str]) -> str:
        """Return a prompt's text with listed names of tools; what was `given` stays as it is."""
        named = (value for value in given if self._registry.as_listed(value) != value)
        values = "|".join(map(re.escape, named))
        parts = re.split(f"({values})", text) if values else [text]
        parts[::2] = [self._registry.as_listed(part) for part in parts[::2]]
        return "".join(parts)


def _listed(prompt: Prompt) -> ListedPrompt:
    return ListedPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            ListedArgument(name=a.name, description=a.description, required=a.required)
            for a in prompt.arguments
        ],
    )
