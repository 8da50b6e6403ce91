"""Where the values of YAML documents are, from libyaml's events.

libyaml refuses some rare texts that are valid YAML 1.2; there, places known up to that point
are given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import yaml

from .results import place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .results import Path, Place

_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})


class Places:
    """The places in one text; nothing is read until one is asked for."""

    def __init__(self, content: str) -> None:
        """Keep the text."""
        # Whether each value is the only one at its path; set once keys are known to repeat.
        self.paths_are_unique = True
        self._content = content.removeprefix("\ufeff")

    def of(self, number: int) -> Callable[[Sequence[Path]], Mapping[Path, Place]]:
        """Return the function that finds places in document `number` (0-based)."""

        def places(paths: Sequence[Path]) -> Mapping[Path, Place]:
            wanted = {tuple(map(str, path)): path for path in paths}
            found: dict[Path, int] = {}
            for document, path, at, _ in self._values():
                if document > number:
                    break
                if document == number and path in wanted:
                    found[wanted[path]] = at
                    if self.paths_are_unique and len(found) == len(wanted):
                        break
            return {path: place(self._content, at) for path, at in found.items()}

        return places

    def repeated(self) -> Iterator[tuple[str, Place]]:
        """Yield the keys that repeat one of their mapping, with their places."""
        seen: set[tuple[int, tuple[str, ...]]] = set()
        for document, path, _, key_at in self._values():
            if key_at is None:
                continue
            if (document, path) in seen:
                yield path[-1], place(self._content, key_at)
            seen.add((document, path))

    def _values(self) -> Iterator[tuple[int, tuple[str, ...], int, int | None]]:
        """Yield document, path and offset of each value, and the offset of its key."""
        try:
            yield from _walk(yaml.parse(self._content, Loader=yaml.CSafeLoader))
        except yaml.YAMLError:
            return


class _Frame:
    """An open mapping or sequence."""

    __slots__ = ("index", "key", "key_at", "path", "within_key")

    def __init__(self, path: tuple[str, ...], *, sequence: bool, within_key: bool) -> None:
        self.path = path
        self.index = 0 if sequence else None
        self.key: str | None = None
        self.key_at: int | None = None
        self.within_key = within_key


def _walk(events: Any) -> Iterator[tuple[int, tuple[str, ...], int, int | None]]:  # noqa: ANN401  # PyYAML's events are untyped
    document, stack = -1, list[_Frame]()
    for event in events:
        kind = type(event).__name__
        if kind == "DocumentStartEvent":
            document, stack = document + 1, []
        elif kind in {"MappingEndEvent", "SequenceEndEvent"}:
            stack.pop()
            _advance(stack)
        elif kind in {"MappingStartEvent", "SequenceStartEvent", "ScalarEvent", "AliasEvent"}:
            at = event.start_mark.index
            frame = stack[-1] if stack else None
            is_key = frame is not None and frame.index is None and frame.key is None
            if frame is None or not (is_key or frame.within_key):
                yield document, _path(frame), at, frame.key_at if frame else None
            if kind.endswith("StartEvent"):
                within = is_key or (frame is not None and frame.within_key)
                sequence = kind.startswith("Sequence")
                stack.append(_Frame(_path(frame), sequence=sequence, within_key=within))
            elif is_key and frame is not None:
                frame.key, frame.key_at = _key(event), at
            else:
                _advance(stack)


def _path(frame: _Frame | None) -> tuple[str, ...]:
    if frame is None:
        return ()
    return (*frame.path, frame.key or "" if frame.index is None else str(frame.index))


def _advance(stack: list[_Frame]) -> None:
    """Go on after a value, or after a key that was itself a collection."""
    if not stack:
        return
    frame = stack[-1]
    if frame.index is not None:
        frame.index += 1
    elif frame.key is None:
        frame.key = ""
    else:
        frame.key = frame.key_at = None


def _key(event: Any) -> str:  # noqa: ANN401  # PyYAML's events are untyped
    value = getattr(event, "value", "")
    plain = getattr(event, "implicit", (False,))[0]
    return "null" if plain and value in _NULLS else str(value)
