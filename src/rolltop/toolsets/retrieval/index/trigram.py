"""What the trigram index stores of a text, and the FTS5 expression for a query.

The index stores the distinct words of a file, about a third of its characters, with every trigram
inside them and at their ends. Text between words is not indexed.
"""

from __future__ import annotations

import re
from typing import Final

from rolltop.toolsets.retrieval.models import Query

_GRAM: Final = 3
# Per text: up to here, one more trigram costs less than reading a file without a match.
_MAX_GRAMS: Final = 48
_MAX_TERMS: Final = 400
_EDGE: Final = " "
# Two, so that no trigram reaches from one word into the next.
_BETWEEN: Final = 2 * _EDGE
_CASE: Final = 32
_ASCII: Final = 128
_WORD: Final = re.compile("[0-9A-Za-z_\x80-\U0010ffff]+")
_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
# A simple expression: each match of an alternative contains all its texts.
_TOKEN: Final = re.compile(
    r"""(?P<sign>\\[!-/:;=?@\[-^`{-~])
    | (?P<any> (?: \\[dDsSwW] | \. | \[\^?[^\[\]\\^]+\] )[*+?]?\?? | \\[bB] | \+\?? | [\^$])
    | (?P<text>[^\\.+^$*?()|\[\]{}]+)
    | (?P<or>\|)""",
    re.VERBOSE,
)


def _indexed_byte(code: int) -> int:
    """Map a byte to its lower case, or to a blank between words."""
    character = chr(code)
    if code >= _ASCII or character.isalnum() or character == "_":
        return code + _CASE if code < _ASCII and character.isupper() else code
    return ord(_EDGE)


_TABLE: Final = bytes(map(_indexed_byte, range(256)))


def indexed_text(data: bytes) -> str:
    """Return the distinct words of a text in UTF-8, blanks around each."""
    words = _BETWEEN.encode().join(set(data.translate(_TABLE).split())).decode("utf-8", "replace")
    return f"{_EDGE}{words}{_EDGE}" if words else ""


def match_expression(query: Query) -> str:
    """Build the FTS5 expression for the files that may match; "" if any file may."""
    choices = _literals(query.text) if query.regex else [[query.text]]
    if query.case != "sensitive":
        # FTS5 pairs ASCII letters with all that match them, and knows fewer others than ripgrep.
        choices = [
            [part for text in texts for part in _BEYOND_ASCII.split(text)] for texts in choices
        ]
    asked = [_spread([gram for text in texts for gram in grams(text)]) for texts in choices]
    if not all(asked) or sum(map(len, asked)) > _MAX_TERMS:
        return ""
    terms = (" AND ".join(f'"{gram}"' for gram in some) for some in asked)
    return " OR ".join(f"({term})" for term in terms)


def grams(text: str) -> list[str]:
    """List the trigrams of every file that contains this text in a line."""
    found: dict[str, None] = {}
    for word in _WORD.finditer(text):
        # At an end of the text the word may continue in the file; inside, it ends as here.
        before = _EDGE if word.start() else ""
        after = _EDGE if word.end() < len(text) else ""
        whole = f"{before}{word[0]}{after}"
        found.update(dict.fromkeys(whole[at : at + _GRAM] for at in range(len(whole) - _GRAM + 1)))
    return list(found)


def _spread(found: list[str]) -> list[str]:
    """Return up to so many of the trigrams, from all of them."""
    step = max(1.0, len(found) / _MAX_GRAMS)
    return list(dict.fromkeys(found[int(step * at)] for at in range(min(len(found), _MAX_GRAMS))))


def _literals(pattern: str) -> list[list[str]]:
    """List, for each alternative of a simple expression, the texts in each of its matches."""
    choices, end = [[""]], 0
    for token in _TOKEN.finditer(pattern):
        if token.start() != end:
            return []
        end = token.end()
        if token["or"]:
            choices.append([""])
        elif token["any"]:
            choices[-1].append("")
        else:
            choices[-1][-1] += token[0].removeprefix("\\")
    return choices if end == len(pattern) else []
