"""What a file has to hold, at the least, for a query to match in it.

Only text that every match holds is named, and only where the reading of the expression is sure:
whatever is unknown, optional or repeated asks for nothing. The dialect is that of Rust's regex.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.toolsets.retrieval.trigrams.runs import GRAM

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.models import Query

_BEYOND_ASCII: Final = re.compile(r"[^\x00-\x7f]+")
_KNOWN_FLAGS: Final = frozenset("imsUuR-")
_WORD_EDGES: Final = frozenset("<>")
_DIGITS: Final[dict[str, int]] = {"x": 2, "u": 4, "U": 8}
_ZERO: Final = ("*", "?")


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
    if not query.regex:
        need, ignores_case = _text(query.text), False
    else:
        reading = _Reading(query.text)
        try:
            need, ignores_case = reading.alternatives(), reading.ignores_case
        except (_Unsure, RecursionError):
            return NOTHING
    return _of_ascii(need) if ignores_case or query.case != "sensitive" else need


def _of_ascii(need: Need) -> Need:
    """Return what is needed whatever the case of letters.

    The index pairs ASCII letters with all that match them, but knows fewer other letters than
    ripgrep does.
    """
    if isinstance(need, str):
        return _all([_text(run) for run in _BEYOND_ASCII.split(need)])
    parts = [_of_ascii(part) for part in need.parts]
    if isinstance(need, All):
        return _all(parts)
    return NOTHING if NOTHING in parts else Either(tuple(parts))


def _text(text: str) -> Need:
    return text if len(text) >= GRAM else NOTHING


def _all(parts: list[Need]) -> Need:
    real = [part for part in parts if part != NOTHING]
    return real[0] if len(real) == 1 else All(tuple(real))


class _Unsure(Exception):
    """The expression holds something that is not read here."""


class _Reading:
    """One pass over an expression."""

    def __init__(self, pattern: str) -> None:
        self._pattern: Final = pattern
        self._at: int = 0
        self.ignores_case = False

    def alternatives(self, *, inside: bool = False) -> Need:
        """Read up to the end, or the closing parenthesis of a group."""
        choices = [self._sequence()]
        while self._next() == "|":
            self._at += 1
            choices.append(self._sequence())
        if inside is not (self._next() == ")"):
            raise _Unsure
        if NOTHING in choices:
            return NOTHING
        return choices[0] if len(choices) == 1 else Either(tuple(choices))

    def _sequence(self) -> Need:
        """Read up to a `|`, a closing parenthesis or the end."""
        parts: list[Need] = []
        run = ""
        while (character := self._next()) and character not in {"|", ")"}:
            literal, need = self._atom(character)
            optional, repeated = self._repetition()
            if literal and not optional:
                run += literal
            if not literal or optional or repeated:
                parts.append(_text(run))
                run = ""
            if not optional:
                parts.append(need)
        return _all([*parts, _text(run)])

    def _atom(self, character: str) -> tuple[str, Need]:
        """Read one atom: the character it stands for, if it is one, or what it needs."""
        self._at += 1
        if character == "(":
            return "", self._group()
        if character == "[":
            self._class()
            return "", NOTHING
        if character == "\\":
            return self._escaped(), NOTHING
        if character in {".", "^", "$"}:
            return "", NOTHING
        if character in "*+?{":
            raise _Unsure
        return character, NOTHING

    def _group(self) -> Need:
        """Read a group, whose parenthesis was read, or flags that look like one."""
        if self._next() == "?" and not self._opening():
            return NOTHING
        need = self.alternatives(inside=True)
        self._at += 1
        return need

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

    def _class(self) -> None:
        """Pass over a bracket expression."""
        depth = 1
        self._at += self._next() == "^"
        self._at += self._next() == "]"
        while depth:
            character = self._next()
            if not character:
                raise _Unsure
            self._at += 2 if character == "\\" else 1
            if character == "[":
                depth += 1
                self._at += self._next() == "^"
                self._at += self._next() == "]"
            elif character == "]":
                depth -= 1

    def _escaped(self) -> str:
        """Read what follows a backslash: the character it stands for, or "" for anything else."""
        character = self._next()
        if not character:
            raise _Unsure
        self._at += 1
        if not character.isalnum() and character not in _WORD_EDGES:
            return character
        if self._next() == "{":
            self._at = self._pattern.find("}", self._at) + 1
            if not self._at:
                raise _Unsure
        elif character in "xuUpP":
            # \x7F, \u007F, \U0000007F, \pL: what follows belongs to it.
            self._at += _DIGITS.get(character, 1)
        return ""

    def _repetition(self) -> tuple[bool, bool]:
        """Read what repeats the atom: whether it may be missing, and whether there is any."""
        optional = repeated = False
        while (sign := self._next()) and sign in "*+?{":
            repeated = True
            self._at += 1
            if sign == "{":
                end = self._pattern.find("}", self._at)
                if end < 0:
                    raise _Unsure
                least = self._pattern[self._at : end].partition(",")[0].strip()
                optional |= not least.isdigit() or int(least) == 0
                self._at = end + 1
            else:
                optional |= sign in _ZERO
        return optional, repeated

    def _next(self) -> str:
        return self._pattern[self._at : self._at + 1]


def _flags(text: str) -> tuple[str, str]:
    """Return the flags that the text begins with, and the sign that ends them."""
    end = next((at for at, sign in enumerate(text) if sign in ":)"), len(text))
    if not set(text[:end]) <= _KNOWN_FLAGS or end == len(text):
        raise _Unsure
    return text[:end], text[end]
