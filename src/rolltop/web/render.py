"""Templates, and the few filters that they use."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader
from markupsafe import Markup

from rolltop import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

PAGES: Final = (("/journal", "Journal", "desk_history"),)
"""The pages that each page links to, with the tool without which there is none."""
_MOMENT: Final = Markup('<time datetime="{}">{}</time>')


class Renderer:
    """The page's templates, each parsed at its first use."""

    def __init__(self) -> None:
        """Parse nothing yet."""
        self._environment = Environment(
            loader=PackageLoader("rolltop.web"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters |= {
            "address_path": address_path,
            "moment": format_moment,
            "query": query,
        }

    def render(self, template: str, /, **values: Any) -> str:  # noqa: ANN401  # what the template shows
        """Return a template's page as HTML."""
        shared = {"version": __version__, "pages": PAGES}
        return self._environment.get_template(f"{template}.html").render(shared | values)


def address_path(uri: str) -> str:
    """Return where the page shows what is at an address of ours."""
    return f"/open?uri={quote(uri, safe='')}"


def format_moment(at: str | float) -> Markup:
    """Return a time, ISO 8601 or UNIX seconds, as an element that scripts show in local time."""
    if isinstance(at, str):
        moment = datetime.fromisoformat(at).astimezone(UTC)
    else:
        moment = datetime.fromtimestamp(at, UTC)
    return _MOMENT.format(moment.isoformat(), moment.strftime("%Y-%m-%d %H:%M UTC"))


def query(values: Mapping[str, object]) -> str:
    """Return the query of an address, `?` included; what is None or empty is left out."""
    given = {name: value for name, value in values.items() if value not in (None, "")}
    return f"?{urlencode(given)}" if given else ""
