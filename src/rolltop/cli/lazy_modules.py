"""The modules that commands load when they first use them: `--help` waits for none of these."""

# Commands import the names from here:
# pyright: reportUnusedImport=false
from __future__ import annotations

from typing import TYPE_CHECKING

from rolltop.core.lazy_imports import lazy

if TYPE_CHECKING:
    import asyncio

    from rolltop import app, toolsets, workspace
    from rolltop.core import (
        accounts,
        audit,
        db,
        dispatch,
        logging,
        page_sessions,
        tool_schema,
        workspaces,
    )
    from rolltop.core.db import bootstrap, encryption, rekey, restore, url
    from rolltop.server import app as server_app
    from rolltop.server import host_check, http, identity, traces
    from rolltop.toolsets.desk import excerpts
    from rolltop.toolsets.desk import import_export as portable_links
    from rolltop.toolsets.desk import search as desk_search
    from rolltop.toolsets.notes import import_export as portable_notes
    from rolltop.toolsets.notes.store import notebooks
    from rolltop.toolsets.notes.sync import pull
    from rolltop.toolsets.notes.sync import service as sync
    from rolltop.toolsets.scratch.service import import_export as portable_pads
    from rolltop.toolsets.scratch.service import scratch_service
    from rolltop.toolsets.tasks import import_export as portable_tasks
    from rolltop.workspace import project
else:
    accounts = lazy("rolltop.core.accounts")
    app = lazy("rolltop.app")
    asyncio = lazy("asyncio")
    audit = lazy("rolltop.core.audit")
    bootstrap = lazy("rolltop.core.db.bootstrap")
    db = lazy("rolltop.core.db")
    desk_search = lazy("rolltop.toolsets.desk.search")
    dispatch = lazy("rolltop.core.dispatch")
    encryption = lazy("rolltop.core.db.encryption")
    excerpts = lazy("rolltop.toolsets.desk.excerpts")
    host_check = lazy("rolltop.server.host_check")
    http = lazy("rolltop.server.http")
    identity = lazy("rolltop.server.identity")
    logging = lazy("rolltop.core.logging")
    notebooks = lazy("rolltop.toolsets.notes.store.notebooks")
    page_sessions = lazy("rolltop.core.page_sessions")
    portable_links = lazy("rolltop.toolsets.desk.import_export")
    portable_notes = lazy("rolltop.toolsets.notes.import_export")
    portable_pads = lazy("rolltop.toolsets.scratch.service.import_export")
    portable_tasks = lazy("rolltop.toolsets.tasks.import_export")
    project = lazy("rolltop.workspace.project")
    pull = lazy("rolltop.toolsets.notes.sync.pull")
    rekey = lazy("rolltop.core.db.rekey")
    restore = lazy("rolltop.core.db.restore")
    scratch_service = lazy("rolltop.toolsets.scratch.service.scratch_service")
    server_app = lazy("rolltop.server.app")
    sync = lazy("rolltop.toolsets.notes.sync.service")
    tool_schema = lazy("rolltop.core.tool_schema")
    toolsets = lazy("rolltop.toolsets")
    traces = lazy("rolltop.server.traces")
    url = lazy("rolltop.core.db.url")
    workspace = lazy("rolltop.workspace")
    workspaces = lazy("rolltop.core.workspaces")
