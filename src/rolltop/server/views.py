"""Views of tools' answers, which hosts show: the extension io.modelcontextprotocol/ui (MCP Apps).

https://github.com/modelcontextprotocol/ext-apps/blob/main/specification/2026-01-26/apps.mdx
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp_types import Resource, TextResourceContents

Context = ServerRequestContext[Any, Any]

EXTENSION: Final = "io.modelcontextprotocol/ui"
MEDIA_TYPE: Final = "text/html;profile=mcp-app"
_TITLES: Final = {"search": "Search results", "board": "Task board", "diff": "What was changed"}


def are_shown(context: Context) -> bool:
    """Whether the client says that it shows views of our kind."""
    capabilities = context.session.client_capabilities
    extensions = (capabilities and capabilities.extensions) or {}
    types: object = extensions.get(EXTENSION, {}).get("mimeTypes")
    return isinstance(types, list) and MEDIA_TYPE in types


def uri_of(view: str) -> str:
    """Return the address of a view."""
    return f"ui://rolltop/{view}"


def describe(view: str) -> Resource:
    """Return a view as resources are listed."""
    return Resource(uri=uri_of(view), name=view, title=_TITLES[view], mime_type=MEDIA_TYPE)


def read(view: str) -> TextResourceContents:
    """Return a view's document."""
    return TextResourceContents(
        uri=uri_of(view),
        mime_type=MEDIA_TYPE,
        text=_document(view),
        _meta={"ui": {"prefersBorder": True}},
    )


@cache
def _document(view: str) -> str:
    """Return one document with all that it needs: it is shown where nothing else can be loaded."""
    folder, title = resources.files("rolltop.web"), _TITLES[view]
    style, shared, own = (
        folder.joinpath(path).read_text("utf-8")
        for path in ("static/page.css", "views/host.js", f"views/{view}.js")
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title} · Rolltop</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p id="status" role="status">Waiting for the answer.</p>
<div id="view"></div>
</main>
<script>{shared}{own}</script>
</body>
</html>
"""
