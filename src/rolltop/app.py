"""The composition root: settings become the context of a process. Loads no SDK and no driver."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path

from rolltop.core.context import AppContext
from rolltop.core.db import Database, encryption
from rolltop.core.dispatch import ToolRegistry, ToolSelection
from rolltop.core.errors import InvalidConfig
from rolltop.core.principal import MAX_PROJECT_LENGTH, is_project_name
from rolltop.core.settings import DEFAULT_SOURCE, Settings
from rolltop.core.tools import Toolset
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from rolltop.workspace.project import find_project_name


def build_context(
    settings: Settings, *, http: bool = False, toolsets: Sequence[Toolset] = TOOLSETS
) -> AppContext:
    """Build the context that the settings describe; open nothing yet.

    Raises InvalidConfig: a setting names a toolset, tool, root, project or store that cannot be, or
    settings of a toolset do not go together.
    """
    for toolset in toolsets:
        if toolset.check_settings is not None:
            toolset.check_settings(settings)
    database = Database(
        settings["database_url"],
        statement_timeout=settings["statement_timeout"],
        lock_timeout=settings["lock_timeout"],
        threads=settings["threads"],
        encryption=encryption.encryption_from_settings(settings),
    )
    selection = ToolSelection(
        toolsets=settings["toolsets"] or None,
        tools=settings["tools"] or None,
        exclude=settings["exclude_tools"],
        read_only=settings["read_only"],
        use_aliases=settings["names"] == "seed",
    )
    registry = ToolRegistry(toolsets, selection)
    roots = _roots(settings, database, http=http)
    project, session = _project(settings, http=http), "" if http else secrets.token_hex(3)
    return AppContext(settings, database, roots, registry, project, session)


def _project(settings: Settings, *, http: bool) -> str:
    """Return the project of every connection; over stdio by default the one we were started in."""
    if settings.source("project") == DEFAULT_SOURCE:
        return "" if http else find_project_name(Path.cwd())
    name: str = settings["project"].strip()
    if name and not is_project_name(name):
        raise InvalidConfig(
            f"project: {name[:80]!r} cannot name a project",
            hint=f"Give 1 to {MAX_PROJECT_LENGTH} printable characters other than a lone *.",
        )
    return name


def _roots(settings: Settings, database: Database, *, http: bool) -> Roots:
    """Open the roots; over stdio the directory the host started us in may stand for them."""
    stores = [settings["data_dir"], *([database.path] if database.path else [])]
    here = Path.cwd()
    return Roots.open(
        settings["retrieval.roots"],
        base=here,
        hidden_stores=stores,
        allow_hidden=settings["retrieval.allow_hidden"],
        extra=settings.get("reader.roots") or (),
        working_directory=None if http else here,
    )
