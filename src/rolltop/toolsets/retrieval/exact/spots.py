"""Where in a file a line matches."""

from __future__ import annotations

from typing import NamedTuple


class Spot(NamedTuple):
    """A matching line: its number, the byte it starts at and the byte column of its match.

    Bytes are counted from 0 for the line and 1 for the column, without a byte order mark.
    """

    line: int
    column: int
    """0 where an empty text matches at the end of a file: of that ripgrep tells none."""
    offset: int
