"""What can be said about a path from its text alone."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

EVERY_ROOT: Final = "both"
"""Where a root is asked for by name, this stands for all; no root may be called so."""

_MAX_PATH_BYTES = 4096


def is_sendable(relative: str) -> bool:
    """Whether a path can be part of an answer: its name is UTF-8 throughout."""
    return relative.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in relative)


def could_exist(path: str) -> bool:
    """Whether the system could have a file of that name at all."""
    try:
        return "\0" not in path and len(os.fsencode(path)) <= _MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False


def climbs_out(parts: Iterable[str]) -> bool:
    """Whether `..` would ever lead above the start."""
    depth = 0
    for part in parts:
        depth += -1 if part == ".." else 1
        if depth < 0:
            return True
    return False
