"""Desks for tests: the product's own, without a transport."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolltop.core.desk import Desk
from rolltop.core.invoke import Answer, invoke
from rolltop.core.registry import Registry, Selection
from rolltop.core.roots import Roots
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets import TOOLSETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.db import Database
    from rolltop.core.scope import Scope
    from rolltop.core.toolset import Toolset


def make_desk(
    database: Database,
    *,
    roots: Roots | None = None,
    settings: Mapping[str, Any] | None = None,
    toolsets: Sequence[Toolset] = TOOLSETS,
    selection: Selection | None = None,
) -> Desk:
    """Return a desk on the database, with default settings but those given."""
    declared = [*CORE_SETTINGS, *(s for toolset in toolsets for s in toolset.settings)]
    values = Settings.defaults(declared).with_(settings or {})
    return Desk(
        values,
        database,
        roots or Roots.open({}, base=Path.cwd()),
        Registry(toolsets, selection),
    )


def call_tool(desk: Desk, scope: Scope, name: str, /, **arguments: Any) -> Answer:
    """Return the answer of one call, made the way the server makes it."""
    return asyncio.run(invoke(desk, name, scope, arguments))
