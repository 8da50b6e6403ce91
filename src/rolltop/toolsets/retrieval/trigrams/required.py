"""What a file has to hold, at the least, for a query to match in it.

Only text that every match holds is named, and stretches of characters of a kind as long as those
that every match holds; only where the reading of the expression is sure: whatever is unknown or
optional asks for nothing. The dialect is that of Rust's regex.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.toolsets.retrieval.trigrams.classes import folded, of_class, of_escape
from rolltop.toolsets.retrieval.trigrams.runs import GRAM
from rolltop.toolsets.retrieval.trigrams.stretches import ANY, KINDS, Characters, marks, of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.toolsets.retrieval.models import Query

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_KNOWN_FLAGS: Final = frozenset("imsUuR-")
_DIGITS: Final[dict[str, int]] = {"x": 2, "u": 4, "U": 8}
_EDGES: Final = frozenset("AbBz<>")
"""Escapes that match no character."""
_ZERO: Final = ("*", "?")
_MOST_DIGITS: Final = 9
_LONGEST: Final = 10_000
"""Characters of the longest expression that is read here."""


@dataclass(frozen=True)
class All:
    """Every one of the parts is needed; none at all asks for nothing."""

    parts: tuple[Need, ...]


@dataclass(frozen=True)
class Either:
    """One of the parts is needed."""

    parts: tuple[Need, ...]


Need = str | All | Either
"""A text of at least three characters, letters of either case; or several such."""

NOTHING: Final = All(())


def required(query: Query) -> Need:
    """Return what a file must hold to match the query."""
    folds = query.case != "sensitive"
    if not query.regex:
        return _text(query.text, folds=folds)
    if len(query.text) > _LONGEST:
        return NOTHING
    try:
        reading = _Reading(query.text, folds=folds)
        need = reading.alternatives().need
        if reading.ignores_case and not folds:
            need = _Reading(query.text, folds=True).alternatives().need
    except (_Unsure, RecursionError):
        return NOTHING
    return need


def _text(text: str, *, folds: bool) -> Need:
    """Return a text as a need; where case is ignored, whatever the case of letters.

    The index pairs ASCII letters with all that match them, but knows fewer other letters than
    ripgrep does.
    """
    parts = _BEYOND_ASCII.split(text) if folds else [text]
    return _all([part for part in parts if len(part) >= GRAM])


def _all(parts: Sequence[Need]) -> Need:
    real = list(dict.fromkeys(part for part in parts if part != NOTHING))
    return real[0] if len(real) == 1 else All(tuple(real))


class _Unsure(Exception):
    """The expression holds something that is not read here."""


class _Match(NamedTuple):
    """What is known of whatever a part of an expression matches."""

    need: Need = NOTHING
    text: str = ""
    """The character that it is, where it can be one only."""
    characters: Characters = 0
    """All that may occur in it."""
    least: int = 0
    """How many characters it has, at the least."""


class _Stretches:
    """The stretches of each kind that a sequence must match, as it is read."""

    def __init__(self) -> None:
        self._lengths: Final = [0] * len(KINDS)
        self._longest: Final = [0] * len(KINDS)

    def add(self, characters: Characters, least: int) -> None:
        """Go on by at least so many of the characters, and by no others."""
        for number, kind in enumerate(KINDS):
            if characters & ~kind.characters:
                self._end(number)
            else:
                self._lengths[number] += least

    def needs(self) -> list[Need]:
        """Return what a file must hold for them."""
        for number in range(len(KINDS)):
            self._end(number)
        return list(marks(self._longest))

    def _end(self, number: int) -> None:
        self._longest[number] = max(self._longest[number], self._lengths[number])
        self._lengths[number] = 0


class _Reading:
    """One pass over an expression; where it `folds`, letters match whatever their case."""

    def __init__(self, pattern: str, *, folds: bool) -> None:
        self._pattern: Final = pattern
        self._folds: Final = folds
        self._at: int = 0
        self.ignores_case = False

    def alternatives(self, *, inside: bool = False) -> _Match:
        """Read up to the end, or the closing parenthesis of a group."""
        choices = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            choices.append(self._sequence())
        if inside is not (self._next() == ")"):
            raise _Unsure
        needs = tuple(choice.need for choice in choices)
        need = NOTHING if NOTHING in needs else Either(needs)
        characters = 0
        for choice in choices:
            characters |= choice.characters
        return _Match(
            needs[0] if len(needs) == 1 else need,
            characters=characters,
            least=min(choice.least for choice in choices),
        )

    def _sequence(self) -> _Match:
        """Read up to a `|`, a closing parenthesis or the end."""
        parts: list[Need] = []
        stretches = _Stretches()
        run, characters, least = "", 0, 0
        while (character := self._next()) and character not in {"|", ")"}:
            match = self._atom(character)
            times, repeated = self._repetition()
            if match.text and times:
                run += match.text
            if not match.text or repeated:
                parts.append(_text(run, folds=self._folds))
                run = ""
            if times:
                parts.append(match.need)
            stretches.add(match.characters, times * match.least)
            characters |= match.characters
            least += times * match.least
        need = _all([*parts, _text(run, folds=self._folds), *stretches.needs()])
        return _Match(need, characters=characters, least=least)

    def _atom(self, character: str) -> _Match:
        """Read one atom."""
        self._at += 1
        if character == "(":
            return self._group()
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escaped()
        if character == ".":
            return _Match(characters=ANY, least=1)
        if character in {"^", "$"}:
            return _Match()
        if character in "*+?{":
            raise _Unsure
        return self._literal(character)

    def _literal(self, character: str) -> _Match:
        characters = of(character)
        if self._folds:
            characters = folded(characters)
        return _Match(text=character, characters=characters, least=1)

    def _group(self) -> _Match:
        """Read a group, whose parenthesis was read, or flags that look like one."""
        if self._next() == "?" and not self._opening():
            return _Match()
        match = self.alternatives(inside=True)
        self._at += 1
        return match

    def _opening(self) -> bool:
        """Read how a group begins; return False where it is flags alone."""
        rest = self._pattern[self._at :]
        name = next((sign for sign in ("?P<", "?<") if rest.startswith(sign)), "")
        if name:
            self._at += rest.find(">") + 1
            return True
        flags, closing = _flags(rest[1:])
        self.ignores_case |= "i" in flags
        self._at += len(flags) + 2
        return closing == ":"

    def _class(self) -> _Match:
        """Read a bracket expression."""
        start, depth = self._at, 1
        self._at += self._next() == "^"
        self._at += self._next() == "]"
        while depth:
            character = self._next()
            if not character or self._pattern.startswith("-[", self._at):
                raise _Unsure  # what ends a range begins no class inside
            self._at += 2 if character == "\\" else 1
            if character == "[":
                depth += 1
                self._at += self._next() == "^"
                self._at += self._next() == "]"
            elif character == "]":
                depth -= 1
        written = self._pattern[start : self._at - 1]
        return _Match(characters=of_class(written, folds=self._folds), least=1)

    def _escaped(self) -> _Match:
        """Read what follows a backslash."""
        start, character = self._at - 1, self._next()
        if not character:
            raise _Unsure
        self._at += 1
        is_edge = character in _EDGES
        if not character.isalnum() and not is_edge:
            return self._literal(character)
        if self._next() == "{" and character in "bxuUpP":
            self._at = self._pattern.find("}", self._at) + 1
            if not self._at:
                raise _Unsure
        elif character in "xuUpP":
            # \x7F, \u007F, \U0000007F, \pL: what follows belongs to it.
            self._at += _DIGITS.get(character, 1)
        if is_edge:
            return _Match()
        escape = self._pattern[start : self._at]
        return _Match(characters=of_escape(escape, folds=self._folds), least=1)

    def _repetition(self) -> tuple[int, bool]:
        """Read what repeats the atom: how often at the least, and whether it can be otherwise."""
        times, repeated = 1, False
        while (sign := self._next()) and sign in "*+?{":
            repeated = True
            self._at += 1
            if sign == "{":
                end = self._pattern.find("}", self._at)
                if end < 0:
                    raise _Unsure
                least = self._pattern[self._at : end].partition(",")[0].strip()
                known = least.isdecimal() and len(least) <= _MOST_DIGITS
                times *= int(least) if known else 0
                self._at = end + 1
            else:
                times *= sign not in _ZERO
            self._at += self._next() == "?"  # as few as can be, which may be no fewer
        return times, repeated

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]


def _flags(text: str) -> tuple[str, str]:
    """Return the flags that the text begins with, and the sign that ends them."""
    end = next((at for at, sign in enumerate(text) if sign in ":)"), len(text))
    if not set(text[:end]) <= _KNOWN_FLAGS or end == len(text):
        raise _Unsure
    return text[:end], text[end]
