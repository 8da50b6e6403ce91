"""One pass over a JSON text that parses: where values are, duplicate keys, NaN and Infinity."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from .results import MOST_DIAGNOSTICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .results import Path

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},:]|[^\s\[\]{},:"]+', re.DOTALL)
_CONSTANTS: Final = frozenset({"NaN", "Infinity", "-Infinity"})
_PATH: Final = "path"


@dataclass(slots=True)
class Survey:
    """Offsets of the values asked for, of repeated keys, and of numbers JSON does not have."""

    offsets: dict[Path, int] = field(default_factory=dict["Path", int])
    duplicates: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])
    constants: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


@dataclass(slots=True)
class _Frame:
    """An open array or object: what is wanted of it, where we are, the keys seen."""

    wanted: dict[Any, Any] | None
    index: int | None = None
    key: str | None = None
    keys: set[str] = field(default_factory=set[str])
    expects_key: bool = False


def survey(text: str, paths: Sequence[Path]) -> Survey:
    """Return what one pass over `text` finds; where a key repeats, its last value counts."""
    found = Survey()
    open_frames: list[_Frame] = []
    root = _trie(paths)
    for token in _TOKEN.finditer(text):
        first = text[token.start()]
        frame = open_frames[-1] if open_frames else None
        if first in "]}":
            open_frames.pop()
        elif first == ",":
            _next_member(frame)
        elif first == ":":
            continue
        elif frame is not None and frame.expects_key:
            _read_key(frame, token, found)
        else:
            wanted = root if frame is None else _child(frame)
            _read_value(token, wanted, found)
            if first == "[":
                open_frames.append(_Frame(wanted, index=0))
            elif first == "{":
                open_frames.append(_Frame(wanted, expects_key=True))
    return found


def _trie(paths: Sequence[Path]) -> dict[Any, Any]:
    """Return the paths as nested dicts; a path that ends at a node is kept in it."""
    root: dict[Any, Any] = {}
    for path in paths:
        node = root
        for step in path:
            node = node.setdefault((step,), {})
        node[_PATH] = path
    return root


def _child(frame: _Frame) -> dict[Any, Any] | None:
    if frame.wanted is None:
        return None
    step = frame.key if frame.index is None else frame.index
    return frame.wanted.get((step,))


def _next_member(frame: _Frame | None) -> None:
    if frame is None:
        return
    if frame.index is None:
        frame.expects_key = True
    else:
        frame.index += 1


def _read_key(frame: _Frame, token: re.Match[str], found: Survey) -> None:
    written = token.group()
    key = json.loads(written) if "\\" in written else written[1:-1]
    if key in frame.keys and len(found.duplicates) < MOST_DIAGNOSTICS:
        found.duplicates.append((key, token.start()))
    frame.keys.add(key)
    frame.key, frame.expects_key = key, False


def _read_value(token: re.Match[str], wanted: dict[Any, Any] | None, found: Survey) -> None:
    if wanted is not None and _PATH in wanted:
        found.offsets[wanted[_PATH]] = token.start()
    if token.group() in _CONSTANTS and len(found.constants) < MOST_DIAGNOSTICS:
        found.constants.append((token.group(), token.start()))
