"""YAML documents put together from libyaml's events, with the place of every value.

Keys are texts here: one that is a collection is written out as `[a, {b: c}]`. What a plain scalar
means is left to yaml-rs. libyaml refuses some rare texts that are valid YAML 1.2.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import yaml
import yaml_rs

from .json_values import bounded, is_array, is_object

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_REPLAYED: Final = 1_000_000
"""Values that all aliases of a text may stand for."""

_TAGS: Final = "tag:yaml.org,2002:"
_TYPES: Final = frozenset({"null", "bool", "int", "float"})
_TYPED: Final = re.compile(
    r"~|null|Null|NULL|true|True|TRUE|false|False|FALSE|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
    r"|[-+]?\.?[0-9][\w.+-]*"
)


class TooManyAliases(Exception):
    """The aliases of a text stand for more than is read."""


class Found(NamedTuple):
    """A value that is not within a key; `at` and `key_at` are offsets.

    `repeats` says whether its mapping had the key before, `is_collection` whether the key is one.
    """

    document: int
    path: tuple[str, ...]
    at: int
    key_at: int | None
    repeats: bool
    is_collection: bool


class _Open:
    """A mapping or sequence that has begun."""

    __slots__ = ("anchor", "index", "is_collection", "key", "key_at", "path", "value", "within_key")

    def __init__(self, anchor: str | None, path: tuple[str, ...], *, within_key: bool) -> None:
        self.anchor = anchor
        self.path = path
        self.within_key = within_key
        self.value: Any = None
        self.index: int | None = None
        self.key: str | None = None
        self.key_at: int | None = None
        self.is_collection = False

    @property
    def is_before_key(self) -> bool:
        """Whether the next value is a key."""
        return self.index is None and self.key is None

    @property
    def next_path(self) -> tuple[str, ...]:
        """The path of the next value."""
        return (*self.path, self.key or "" if self.index is None else str(self.index))


class Composition:
    """The documents of one text, as far as it has been read."""

    def __init__(self, content: str) -> None:
        """Keep the text; `values` reads it."""
        self.documents: list[Any] = []
        self.is_whole = False
        self._content = content
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._replayed = 0

    def values(self) -> Iterator[Found]:
        """Yield the values in their order; ends early where libyaml refuses the text.

        Raises TooManyAliases.
        """
        try:
            for event in yaml.parse(self._content, Loader=yaml.CSafeLoader):
                yield from self._taken(event, type(event).__name__)
        except yaml.YAMLError:
            return
        self.is_whole = True

    def _taken(self, event: Any, kind: str) -> Iterator[Found]:  # noqa: ANN401  # PyYAML's events are untyped
        if kind == "DocumentStartEvent":
            self._anchors.clear()
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            ended = self._open.pop()
            self._complete(ended.value, ended.anchor, is_collection=True)
        elif kind in {"MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"}:
            parent = self._open[-1] if self._open else None
            is_key = parent is not None and parent.is_before_key
            if is_key and parent is not None:
                parent.key_at = event.start_mark.index
            elif parent is None or not parent.within_key:
                yield self._found(parent, event.start_mark.index)
            if kind.endswith("StartEvent"):
                self._begin(event, parent, is_sequence=kind.startswith("Seq"), is_key=is_key)
            elif kind == "AliasEvent":
                value = self._replay(event.anchor)
                self._complete(value, None, is_collection=isinstance(value, dict | list))
            else:
                self._complete(_scalar(event), event.anchor, is_collection=False)

    def _found(self, parent: _Open | None, at: int) -> Found:
        number = len(self.documents)
        if parent is None:
            return Found(number, (), at, None, repeats=False, is_collection=False)
        repeats = parent.index is None and parent.key in parent.value
        key_at = parent.key_at if parent.index is None else None
        return Found(number, parent.next_path, at, key_at, repeats, parent.is_collection)

    def _begin(self, event: Any, parent: _Open | None, *, is_sequence: bool, is_key: bool) -> None:  # noqa: ANN401  # as above
        path = parent.next_path if parent is not None else ()
        within_key = is_key or (parent is not None and parent.within_key)
        begun = _Open(event.anchor, path, within_key=within_key)
        begun.index, begun.value = (0, []) if is_sequence else (None, {})
        self._open.append(begun)

    def _complete(self, value: Any, anchor: str | None, *, is_collection: bool) -> None:  # noqa: ANN401  # any value
        """Put a value where it belongs."""
        if anchor is not None:
            self._anchors[anchor] = (value, -1)
        if not self._open:
            self.documents.append(value)
            return
        parent = self._open[-1]
        if parent.index is not None:
            parent.value.append(value)
            parent.index += 1
        elif parent.key is None:
            parent.key, parent.is_collection = key_text(value), is_collection
        else:
            parent.value[parent.key] = value
            parent.key, parent.is_collection = None, False

    def _replay(self, anchor: str) -> Any:  # noqa: ANN401  # any value
        """Return what an alias stands for; null within what it names."""
        value, size = self._anchors.get(anchor, (None, 1))
        if size < 0:  # counted when it is first asked for
            size = _size(value)
            self._anchors[anchor] = (value, size)
        self._replayed += size
        if self._replayed > MOST_REPLAYED:
            raise TooManyAliases
        return value


def key_text(key: Any) -> str:  # noqa: ANN401  # any value may be a key
    """Return a key as JSON can have it."""
    if isinstance(key, str):
        return key
    if key is None or isinstance(key, bool):
        return "null" if key is None else str(key).lower()
    if is_array(key):
        return f"[{', '.join(map(key_text, key))}]"
    if is_object(key):
        return f"{{{', '.join(f'{name}: {key_text(value)}' for name, value in key.items())}}}"
    return str(bounded(key)) if isinstance(key, int) else str(key)


def _scalar(event: Any) -> Any:  # noqa: ANN401  # PyYAML's events are untyped
    """Return the value of a scalar, as yaml-rs reads it."""
    text: str = event.value
    if event.tag is None:
        if event.style:
            return text
        return _typed(text, "") if _TYPED.fullmatch(text) else text or None
    name = event.tag.removeprefix(_TAGS)
    if name not in _TYPES or name == event.tag:
        return text
    return _typed(text, f"!!{name} ") if _TYPED.fullmatch(text) else None


def _typed(text: str, tag: str) -> Any:  # noqa: ANN401  # any scalar
    value = yaml_rs.loads(tag + text, parse_datetime=False)
    return bounded(value) if isinstance(value, int) else value


def _size(value: Any) -> int:  # noqa: ANN401  # any value
    """Return how many values a value is made of, counting no further than aliases may."""
    count, pending = 0, [value]
    while pending and count <= MOST_REPLAYED:
        one = pending.pop()
        count += 1
        if is_object(one):
            pending.extend(one.values())
        elif is_array(one):
            pending.extend(one)
    return count
