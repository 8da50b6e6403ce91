"""Positions of the values of YAML documents, from libyaml's events.

libyaml refuses some rare texts that are valid YAML 1.2; their values have the position 1, 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import yaml
import yaml_rs

from .json_text import clamp_integer
from .results import LineColumn, Path, position_at

_TAGS: Final = "tag:yaml.org,2002:"
_TYPED_SCALAR: Final = re.compile(
    r"~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?\.?[0-9][\w.+-]*"
)


class YamlValue(NamedTuple):
    """A value that is not within a key; `at` and `key_at` are offsets.

    `repeats` says whether its mapping had the key before.
    """

    document: int
    path: tuple[str, ...]
    at: int
    key_at: int | None = None
    repeats: bool = False


@dataclass(slots=True)
class _OpenCollection:
    """A mapping or sequence that has begun; a mapping's `key` is None before each key."""

    path: tuple[str, ...]
    index: int | None
    within_key: bool
    key: str | None = None
    key_at: int = 0
    keys: set[str] = field(default_factory=set[str])


def walk(content: str) -> Iterator[YamlValue]:
    """Yield the values in order. Raises yaml.YAMLError if libyaml refuses the text."""
    document = -1
    pending: list[_OpenCollection] = []
    event: Any  # PyYAML's events are untyped
    for event in yaml.parse(content, Loader=yaml.CSafeLoader):
        kind = type(event).__name__
        parent = pending[-1] if pending else None
        if kind == "DocumentStartEvent":
            document += 1
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            pending.pop()
            _complete(pending[-1] if pending else None, "")
        elif kind in {"MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"}:
            is_key = parent is not None and parent.index is None and parent.key is None
            path: tuple[str, ...] = ()
            if parent is not None and not is_key:
                step = parent.key or "" if parent.index is None else str(parent.index)
                path = (*parent.path, step)
            if not is_key and not (parent and parent.within_key):
                yield _value(document, path, event.start_mark.index, parent)
            if is_key and parent is not None:
                parent.key_at = event.start_mark.index
            if kind.endswith("StartEvent"):
                index = 0 if kind.startswith("Sequence") else None
                within_key = is_key or (parent is not None and parent.within_key)
                pending.append(_OpenCollection(path, index, within_key))
            else:
                _complete(parent, _key_of(event) if kind == "ScalarEvent" and is_key else "")


def _value(
    document: int, path: tuple[str, ...], at: int, parent: _OpenCollection | None
) -> YamlValue:
    if parent is None or parent.index is not None:
        return YamlValue(document, path, at)
    repeats = path[-1] in parent.keys
    parent.keys.add(path[-1])
    return YamlValue(document, path, at, parent.key_at, repeats)


def _complete(parent: _OpenCollection | None, key: str) -> None:
    """Move on to what follows a key or a value."""
    if parent is None:
        return
    if parent.index is not None:
        parent.index += 1
    else:
        parent.key = key if parent.key is None else None


def _key_of(event: Any) -> str:  # noqa: ANN401  # PyYAML's events are untyped
    """Render a key as JSON can have it; what a plain scalar means is left to yaml-rs."""
    text: str = event.value
    if event.style or (event.tag or "").startswith(_TAGS) or not _TYPED_SCALAR.fullmatch(text):
        return text or "null" if not event.style else text
    return key_text(yaml_rs.loads(text, parse_datetime=False))


def key_text(key: object) -> str:
    """Render a key as JSON can have it. Raises TypeError for a collection."""
    if isinstance(key, tuple | frozenset):
        raise TypeError("a key is a collection")
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    return str(clamp_integer(key)) if isinstance(key, int) else str(key)


class YamlPositions:
    """Positions in one text; nothing is read until one is asked for."""

    def __init__(self, content: str, *, paths_are_unique: bool = True) -> None:
        """Take the text; `paths_are_unique` says that no key repeats."""
        self._content = content
        self._paths_are_unique = paths_are_unique

    def finder_for(self, number: int) -> Callable[[Sequence[Path]], Mapping[Path, LineColumn]]:
        """Build the function that finds positions in document `number` (0-based).

        What an alias or a merge key brings in has the position of what it is brought into.
        """

        def positions(paths: Sequence[Path]) -> Mapping[Path, LineColumn]:
            wanted = {tuple(map(str, path)): path for path in paths}
            enclosing = {steps[:end] for steps in wanted for end in range(len(steps) + 1)}
            offsets: dict[tuple[str, ...], int] = {}
            missing = set(wanted)
            with suppress(yaml.YAMLError):
                for found in walk(self._content):
                    if found.document > number:
                        break
                    if found.document == number and found.path in enclosing:
                        offsets[found.path] = found.at
                        missing.discard(found.path)
                        if self._paths_are_unique and not missing:
                            break
            return {
                path: position_at(self._content, _innermost(steps, offsets))
                for steps, path in wanted.items()
            }

        return positions


def _innermost(steps: tuple[str, ...], offsets: Mapping[tuple[str, ...], int]) -> int:
    """Find the offset of the value, or of the innermost around it that has one."""
    known = (offsets[steps[:end]] for end in range(len(steps), -1, -1) if steps[:end] in offsets)
    return next(known, 0)
