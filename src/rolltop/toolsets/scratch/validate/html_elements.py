"""Which elements of HTML have no end tag, may leave it out, or end others by starting."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VOID: Final = _words(
    "area base basefont bgsound br col embed frame hr img input keygen link meta param source "
    "track wbr"
)
RAW_TEXT: Final = _words("script style textarea title xmp iframe noembed noframes plaintext")
# https://html.spec.whatwg.org/multipage/syntax.html#optional-tags
OPTIONAL_END: Final = _words(
    "html head body li dt dd p rt rp optgroup option colgroup caption thead tbody tfoot tr td th "
    "plaintext"
)
FORMATTING: Final = _words("a b big code em font i nobr s small strike strong tt u")
SCOPES: Final = _words("table template ul ol dl select button object marquee applet html svg math")
ENDS_PARAGRAPH: Final = _words(
    "address article aside blockquote center details dialog dir div dl dd dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr li main menu nav ol p pre search "
    "section summary table ul"
)
_CELLS: Final = frozenset({"td", "th"})
_ROWS: Final = _CELLS | {"tr"}
_GROUPS: Final = _ROWS | {"thead", "tbody", "tfoot", "caption", "colgroup"}
CLOSED_BY_START: Final[dict[str, frozenset[str]]] = {
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "rt": frozenset({"rt", "rp"}),
    "rp": frozenset({"rt", "rp"}),
    "option": frozenset({"option"}),
    "optgroup": frozenset({"option", "optgroup"}),
    "body": frozenset({"head"}),
    "td": _CELLS,
    "th": _CELLS,
    "tr": _ROWS | {"caption", "colgroup"},
    "thead": _GROUPS,
    "tbody": _GROUPS,
    "tfoot": _GROUPS,
    "colgroup": frozenset({"caption"}),
}
