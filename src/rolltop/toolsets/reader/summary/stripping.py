"""The words of a page or a program as lines of running text, each on its own line."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rolltop.toolsets.reader.summary.prose import Seen

TAG: Final = re.compile(r"<[^<>]*>")
_MOST_OPEN: Final = 20
_UNSEEN: Final = re.compile(
    r"(?is)<!--.*?-->|<(script|style|template|pre|table|svg|nav)\b.*?</\1\s*>"
)
# Of text level in HTML's terms: they stand inside of words. `sup` is not among them: a number
# behind a word is a note's, or a power, and neither belongs to the word.
_INLINE: Final = re.compile(
    r"(?i)</?(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|"
    r"q|ruby|s|samp|small|span|strike|strong|sub|time|tt|u|var|wbr)(?:[ \t/][^<>\n]*)?>"
)
_BLANKS: Final = re.compile(r"[ \t]{2,}")
_COMMENT: Final = re.compile(r"(?:#+!?|//+!?|/\*+|\*+/?|--+|;+|%+|\"{3}|'{3})[ \t]?")


def visible(text: str, seen: Seen) -> str:
    """Return an HTML text's visible words, each on the line it stands on."""

    def blank(found: re.Match[str]) -> str:
        name = (found.group(1) or "").lower() if found.re is _UNSEEN else ""
        seen.tables |= name == "table"
        seen.code |= name == "pre"
        return "\n" * found.group().count("\n") or " "

    lowered = text.lower()
    seen.figures |= "<img" in lowered
    if "</" in text or "<!--" in text:
        text = _UNSEEN.sub(blank, text) if _is_closed(lowered) else text
    return _BLANKS.sub(" ", html.unescape(TAG.sub(blank, _INLINE.sub("", text))))


def _is_closed(lowered: str) -> bool:
    """Whether few enough blocks to leave out stay open for the search for their ends to be cheap.

    Each that begins before the last end is passed over up to one: only those behind it cost.
    """
    names = ("script", "style", "template", "pre", "table", "svg", "nav")
    marks = [("<!--", "-->"), *((f"<{name}", rf"</{name}\s*>") for name in names)]
    for opens, ends in marks:
        last = max((end.end() for end in re.finditer(ends, lowered)), default=0)
        if lowered.count(opens, last) > _MOST_OPEN:
            return False
    return True


def comments(text: str) -> str:
    """Return a program's comments and documentation, each on its own line."""
    kept: list[str] = []
    quote = ""
    for line in text.split("\n"):
        stripped = line.strip()
        opened = next((q for q in ('"""', "'''") if q in stripped), "")
        if quote:
            inside = stripped.removesuffix(quote)
            kept.append("" if inside.startswith((">>>", "...")) else inside)
            quote = "" if quote in stripped else quote
        elif opened and stripped.lstrip("rRbBuUfF").startswith(opened):
            kept.append(stripped.lstrip("rRbBuUfF").replace(opened, ""))
            quote = opened if stripped.count(opened) == 1 else ""
        else:
            marked = _COMMENT.match(stripped)
            kept.append(stripped[marked.end() :].removesuffix("*/") if marked else "")
    return "\n".join(kept)
