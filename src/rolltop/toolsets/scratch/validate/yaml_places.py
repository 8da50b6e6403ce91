"""Where the values of YAML documents are; nothing is read until one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .results import place
from .yaml_events import Composition, TooManyAliases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from .results import Path, Place
    from .yaml_events import Found


class Places:
    """The places in one text."""

    def __init__(self, content: str, *, paths_are_unique: bool = True) -> None:
        """Keep the text; `paths_are_unique` says that no key repeats."""
        self._content = content
        self._paths_are_unique = paths_are_unique

    def of(self, number: int) -> Callable[[Sequence[Path]], Mapping[Path, Place]]:
        """Return the function that finds places in document `number` (0-based).

        What an alias or a merge key brings in has the place of what it is brought into.
        """

        def places(paths: Sequence[Path]) -> Mapping[Path, Place]:
            wanted = {tuple(map(str, path)): path for path in paths}
            enclosing = {steps[:end] for steps in wanted for end in range(len(steps) + 1)}
            offsets: dict[tuple[str, ...], int] = {}
            missing = set(wanted)
            for found in self._values():
                if found.document > number:
                    break
                if found.document == number and found.path in enclosing:
                    offsets[found.path] = found.at
                    missing.discard(found.path)
                    if self._paths_are_unique and not missing:
                        break
            return {
                path: place(self._content, _innermost(steps, offsets))
                for steps, path in wanted.items()
            }

        return places

    def _values(self) -> Iterator[Found]:
        try:
            yield from Composition(self._content).values()
        except TooManyAliases:
            return


def _innermost(steps: tuple[str, ...], offsets: Mapping[tuple[str, ...], int]) -> int:
    """Return the offset of the value, or of the innermost around it that has one."""
    for end in range(len(steps), -1, -1):
        at = offsets.get(steps[:end])
        if at is not None:
            return at
    return 0
