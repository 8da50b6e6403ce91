"""Templates, and the few filters that they use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, time
from typing import Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from rolltop import __version__
from rolltop.core.addresses import RECORD_KINDS, parse_address
from rolltop.core.errors import InvalidArgument
from rolltop.core.times import moment_of

PAGES: Final = (
    ("/tasks", "Tasks", {"list_tasks"}),
    ("/notes", "Notes", {"note_list"}),
    ("/pads", "Pads", {"scratch_list"}),
    ("/files", "Files", {"repo_search"}),
    ("/journal", "Journal", {"desk_history"}),
    ("/trash", "Trash", {"list_tasks", "note_list", "scratch_list"}),
)
"""The pages that each page links to, with the tools without all of which there is none."""
_END_OF_DAY: Final = f"T{time.max.isoformat()}Z"
_MOMENT: Final = Markup('<time datetime="{}">{}</time>')


class Renderer:
    """The page's templates, each parsed at its first use."""

    def __init__(self) -> None:
        self._environment = Environment(
            loader=PackageLoader("rolltop.web"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "address_path": address_path,
            "due": format_due,
            "moment": format_moment,
            "query": query,
            "quote_path": quote_path,
            "tojson_text": lambda value: json.dumps(value, indent=2, ensure_ascii=False),
        }

    def render(self, template: str, /, **values: Any) -> str:  # noqa: ANN401  # what the template shows
        """Return a template's page as HTML."""
        shared = {"version": __version__, "pages": PAGES}
        return self._environment.get_template(f"{template}.html").render(shared | values)


def address_path(uri: str) -> str:
    """Return where the page shows what is at an address of ours."""
    generic = f"/open?uri={quote(uri, safe='')}"
    try:
        address = parse_address(uri)
    except InvalidArgument:
        return generic
    if address.kind in RECORD_KINDS:
        version = f"?version={address.version}" if address.kind == "note" else ""
        return f"/{address.kind}s/{quote(address.id, safe='')}{version if address.version else ''}"
    if address.kind == "file":
        path = f"/files/{quote(address.root, safe='')}/{quote_path(address.path)}"
        line = address.lines[0] if address.lines else 0
        return f"{path}?line={line}#L{line}" if line else path
    return generic


def quote_path(path: str) -> str:
    """Return a path as a part of an address; bytes that are no UTF-8 as they are on disk."""
    return quote(path, safe="/", errors="surrogateescape")


def format_moment(at: str | float) -> Markup:
    """Return a time, ISO 8601 or UNIX seconds, as an element that scripts show in local time."""
    moment = datetime.fromisoformat(at).astimezone(UTC) if isinstance(at, str) else moment_of(at)
    return _MOMENT.format(moment.isoformat(), moment.strftime("%Y-%m-%d %H:%M UTC"))


def format_due(at: str) -> str:
    """Return when a task is due; a whole day is the same one by every clock."""
    return at.removesuffix(_END_OF_DAY) if at.endswith(_END_OF_DAY) else format_moment(at)


def query(values: Mapping[str, object]) -> str:
    """Return the query of an address, `?` included; what is None or empty is left out."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
