"""Runs of letters: what the index keeps of a file, and what may be asked of it.

A file's distinct runs hold a third of its characters and every trigram inside them, so reading
them in costs a third. What lies between runs is lost but for where a run begins and ends.
"""

from __future__ import annotations

import re
from typing import Final

from rolltop.toolsets.retrieval.trigrams.stretches import stretches

GRAM: Final = 3
"""Characters of a trigram."""

_EDGE: Final = " "
_BETWEEN: Final = 2 * _EDGE
"""Two, so that no trigram reaches from one run into the next."""
_CASE: Final = 32
_ASCII: Final = 128


def _kept(code: int) -> int:
    """Return what stands for a byte: small letters, and blanks between runs."""
    character = chr(code)
    if code >= _ASCII or character.isalnum() or character == "_":
        return code + _CASE if code < _ASCII and character.isupper() else code
    return ord(_EDGE)


_TABLE: Final = bytes(map(_kept, range(256)))
_RUN: Final = re.compile("[0-9A-Za-z_\x80-\U0010ffff]+")


def kept(data: bytes) -> str:
    """Return what the index keeps of a text in UTF-8: its distinct runs and longest stretches.

    There are blanks around each.
    """
    found = set(data.translate(_TABLE).split())
    joined = _BETWEEN.encode().join(found)
    parts = [joined.decode("utf-8", "replace"), stretches(data, joined)]
    return f"{_EDGE}{_BETWEEN.join(filter(None, parts))}{_EDGE}" if any(parts) else ""


def grams(text: str) -> list[str]:
    """Return the trigrams that `kept` of any text holds that holds this one in a line."""
    found: dict[str, None] = {}
    for run in _RUN.finditer(text):
        # At an end of the text the run may go on in the file; inside, it ends where it ends here.
        before = _EDGE if run.start() else ""
        after = _EDGE if run.end() < len(text) else ""
        whole = f"{before}{run[0]}{after}"
        found.update(dict.fromkeys(whole[at : at + GRAM] for at in range(len(whole) - GRAM + 1)))
    return list(found)
