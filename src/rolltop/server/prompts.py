"""Prompts: what the toolsets offer a person to start from."""

from __future__ import annotations

from collections.abc import Mapping

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

from rolltop.core.arguments import MAX_QUERY_CHARACTERS, require_storable
from rolltop.core.context import AppContext
from rolltop.core.tools import Prompt
from rolltop.server.error_middleware import Context, Route, refuse_cursor, unknown_name_message


class PromptHandlers:
    """What the toolsets declare as prompts, as prompts of the protocol."""

    def __init__(self, app: AppContext) -> None:
        self._registry = app.registry
        toolsets = app.registry.toolsets
        prompts = [prompt for toolset in toolsets for prompt in toolset.prompts]
        self.prompts = {p.name: p for p in prompts if app.registry.has_tools(p.tools)}

    def routes(self) -> list[Route]:
        """Return the methods to serve; none where no toolset offers a prompt."""
        served: list[Route] = [
            ("prompts/list", PaginatedRequestParams, self.list),
            ("prompts/get", GetPromptRequestParams, self.get),
        ]
        return served if self.prompts else []

    async def list(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListPromptsResult:
        """Return every prompt, on one page."""
        refuse_cursor(params)
        return ListPromptsResult(prompts=[_to_protocol(prompt) for prompt in self.prompts.values()])

    async def get(self, _context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """Return the message of one prompt with its arguments filled in."""
        prompt = self.prompts.get(params.name)
        if prompt is None:
            raise MCPError(
                INVALID_PARAMS, unknown_name_message("prompt", params.name, self.prompts)
            )
        given = params.arguments or {}
        names = [argument.name for argument in prompt.arguments]
        for name in given:
            if name not in names:
                raise MCPError(INVALID_PARAMS, unknown_name_message("argument", name, names))
        for argument in prompt.arguments:
            if argument.required and not given.get(argument.name):
                message = f"The prompt {prompt.name} needs its argument {argument.name}"
                raise MCPError(INVALID_PARAMS, message, {"hint": argument.description})
        for name, value in given.items():
            if len(value) > MAX_QUERY_CHARACTERS:
                most = f"{name} has more than {MAX_QUERY_CHARACTERS:,} characters"
                raise MCPError(INVALID_PARAMS, most, {"hint": "Give the prompt less of it."})
            require_storable(value, name)
        message = PromptMessage(role="user", content=TextContent(text=self._render(prompt, given)))
        return GetPromptResult(description=prompt.description, messages=[message])

    def _render(self, prompt: Prompt, given: Mapping[str, str]) -> str:
        """Return a prompt's text with listed names of tools; what was `given` stays as it is."""
        # NUL, which no text that was given holds, tells them apart.
        marked = {name: value and f"\0{name}\0" for name, value in given.items()}
        parts = prompt.render(marked).split("\0")
        parts[::2] = [self._registry.use_listed_names(part) for part in parts[::2]]
        parts[1::2] = [given[name] for name in parts[1::2]]
        return "".join(parts)


def _to_protocol(prompt: Prompt) -> ListedPrompt:
    return ListedPrompt(
        name=prompt.name,
        title=prompt.title,
        description=prompt.description,
        arguments=[
            ListedArgument(name=a.name, description=a.description, required=a.required)
            for a in prompt.arguments
        ],
    )
