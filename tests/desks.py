"""Desks for tests: the product's own, without a transport."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rolltop.core.context import AppContext
from rolltop.core.dispatch import Answer, ToolRegistry, ToolSelection, dispatch
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from tests.limits import SETTINGS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping, Sequence

    from rolltop.core.db import Database
    from rolltop.core.principal import Principal
    from rolltop.core.tools import Toolset

T = TypeVar("T")


def make_desk(
    database: Database,
    *,
    roots: Roots | None = None,
    settings: Mapping[str, Any] | None = None,
    toolsets: Sequence[Toolset] = TOOLSETS,
    selection: ToolSelection | None = None,
) -> AppContext:
    """Return a desk on the database, with default settings but those given and long limits."""
    declared = [*CORE_SETTINGS, *(s for toolset in toolsets for s in toolset.settings)]
    long = {one.key: SETTINGS[one.key] for one in declared if one.key in SETTINGS}
    values = Settings.defaults(declared).replace({**long, **(settings or {})})
    return AppContext(
        values,
        database,
        roots or Roots.open({}, base=Path.cwd()),
        _all_tools()
        if toolsets is TOOLSETS and selection is None
        else ToolRegistry(toolsets, selection),
    )


@cache
def _all_tools() -> ToolRegistry:
    """The registry of most desks: it never changes, and takes longer to make than most calls."""
    return ToolRegistry(TOOLSETS)


def answer_of(desk: AppContext, scope: Principal, name: str, /, **arguments: Any) -> Any:
    """Return what a call that must succeed answers."""
    answer = call_tool(desk, scope, name, **arguments)
    assert not answer.is_error, answer.text
    return answer.structured


def call_tool(desk: AppContext, scope: Principal, name: str, /, **arguments: Any) -> Answer:
    """Return the answer of one call, made the way the server makes it."""
    return asyncio.run(dispatch(desk, name, scope, arguments))


def wait_for(promised: Awaitable[T]) -> T:
    """Return what was promised."""

    async def promise() -> T:
        return await promised

    return asyncio.run(promise())
