"""Markdown as HTML that is safe to show: no script, no style, nothing loaded from elsewhere."""

from __future__ import annotations

import re
from typing import Final

import nh3
import pyromark
from markupsafe import Markup

from rolltop.web.render import address_path

MAX_RENDERED: Final = 1 << 17
"""Characters; longer texts are shown as they are."""
MAX_DEPTH: Final = 100
"""Elements in each other; deeper texts, for which a parser takes quadratic time, likewise."""
_TAG: Final = re.compile(r"<(/?)([a-z][a-z0-9]*)")
_VOID: Final = frozenset({"area", "br", "col", "hr", "img", "input", "link", "meta", "wbr"})
_OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
)
_TAGS: Final = frozenset(
    """a abbr b blockquote br code dd del dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s strong
    sub sup table tbody td th thead tr ul""".split()  # noqa: SIM905  # thirty lines as a list
)
# Images would be loaded from wherever a note says: what they show is told instead.
_ATTRIBUTES: Final = {"a": {"href"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}}
_BOXES: Final = {
    '<input disabled="" type="checkbox"/>\n': "\u2610 ",
    '<input disabled="" type="checkbox" checked=""/>\n': "\u2611 ",
}
_IMAGE: Final = re.compile(r'<img src="([^"<>]*)" alt="([^"<>]*)"[^<>]*>')
_SCHEMES: Final = frozenset({"http", "https", "mailto", "rolltop"})
_SCHEME: Final = re.compile(r"\s*([a-z]+):", re.IGNORECASE)


def render_markdown(text: str) -> Markup:
    """Return a text's Markdown as HTML; a text that is long or deep as it is."""
    html = pyromark.html(text, options=_OPTIONS) if len(text) <= MAX_RENDERED else ""
    if len(text) > MAX_RENDERED or _is_deep(html):
        return Markup("<pre>{}</pre>").format(text)
    for box, sign in _BOXES.items():
        html = html.replace(box, sign)
    html = _IMAGE.sub(lambda image: image[2] or image[1], html)
    clean = nh3.clean(
        html,
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        url_schemes=set(_SCHEMES),
        attribute_filter=_choose_value,
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(clean)  # noqa: S704  # cleaned above


def _choose_value(_tag: str, name: str, value: str) -> str | None:
    """Let links of one of the schemes stay, to where the page shows it; others lead nowhere."""
    if name != "href":
        return value
    scheme = _SCHEME.match(value)
    if scheme is None:
        return None
    return address_path(value.strip()) if scheme[1].lower() == "rolltop" else value


def _is_deep(html: str) -> bool:
    """Whether more elements are open at once than people write; wrongly closed ones stay open."""
    opened: list[str] = []
    for closes, name in _TAG.findall(html.lower()):
        if not closes and name not in _VOID:
            opened.append(name)
        elif closes and opened[-1:] == [name]:
            opened.pop()
        if len(opened) > MAX_DEPTH:
            return True
    return False
