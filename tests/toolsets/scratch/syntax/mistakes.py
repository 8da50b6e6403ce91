"""Typical mistakes, as damage to one sample of each language: tests/data/validate/mistakes.

A file holds a sample, a line `%%%%`, and a mistake a line: `old ⇒ new`, where ⏎ and ⇥ stand for
the end of a line and a tab. Right is the line of the change or one beside it; ` @ +2,-3` names
others, counted from the change: where the language's own compiler reports it, and where what is
left open begins.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from .data import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

LAYERS: Final = {
    "jsx": ("js", "jsx"),
    "ts": ("js", "ts"),
    "tsx": ("js", "ts", "jsx"),
    "h": ("c",),
    "cpp": ("c", "cpp"),
    "hpp": ("c", "cpp"),
    "htm": ("html",),
    "yml": ("yaml",),
}
"""The files that make up a language's sample; of others, the one of its name."""
_ESCAPES: Final = str.maketrans({"⏎": "\n", "⇥": "\t"})


@dataclass(frozen=True)
class Mistake:
    """A sample with one mistake in it, and the lines where it may be reported."""

    name: str
    text: str
    lines: frozenset[int]


def sample(language: str) -> str:
    """Return the text without a mistake."""
    return "\n".join(text for text, _ in _files(language))


def mistakes(language: str) -> Iterator[Mistake]:
    """Yield the sample with each of its mistakes."""
    whole = sample(language)
    for _, lines in _files(language):
        for line in lines:
            edit, _, others = line.partition(" @ ")
            old, new = (text.translate(_ESCAPES) for text in f"{edit} ".split(" ⇒ "))
            new = new.removesuffix(" ")
            at = whole.index(old)
            same = _common(old, new)
            kept = _common(old[same:][::-1], new[same:][::-1])
            first = whole.count("\n", 0, at + same) + 1
            last = first + new.count("\n", same, max(len(new) - kept, same))
            right = {*range(first - 1, last + 2), *(first + int(one) for one in _words(others))}
            text = whole[:at] + new + whole[at + len(old) :]
            yield Mistake(edit, text, frozenset(right))


def _files(language: str) -> Iterator[tuple[str, list[str]]]:
    for name in LAYERS.get(language, (language,)):
        text = (DATA / "mistakes" / f"{name}.txt").read_text(encoding="utf-8")
        before, after = text.split("%%%%\n")
        yield before, after.splitlines()


def _common(one: str, other: str) -> int:
    """The length of what both texts begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _words(numbers: str) -> list[str]:
    return numbers.split(",") if numbers else []
