"""A query as ripgrep takes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.errors import Invalid

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.models import Query

_CASES: Final = {
    "sensitive": "--case-sensitive",
    "ignore": "--ignore-case",
    "smart": "--smart-case",
}


@dataclass(frozen=True)
class Expression:
    """What to look for: the pattern in UTF-8 and how it is read."""

    pattern: bytes
    flags: tuple[str, ...]

    @property
    def literal(self) -> bytes | None:
        """The text whose very bytes match, None where anything else does."""
        return self.pattern if self.flags == ("--fixed-strings", "--case-sensitive") else None

    @property
    def or_binary(self) -> Expression | None:
        """The same or a NUL; None where looking for both would cost more than looking twice."""
        return None if self.literal is None else Expression(self.pattern + b"\n\0", self.flags)

    @property
    def of_ascii(self) -> Expression | None:
        """What matches the same in bytes that are all ASCII, and is found sooner.

        Ripgrep takes 10 ms to compile the words or digits of all of Unicode, and looks for ends of
        words several times as long. None where nothing is gained, or it may be read otherwise.
        """
        if self.literal is not None or not self.pattern.isascii() or _UNICODE.search(self.pattern):
            return None
        return Expression(self.pattern, (*self.flags, "--no-unicode"))

    @property
    def once_a_line(self) -> Expression:
        """What matches where this does first in a line, and there only.

        Where columns are asked for, ripgrep looks for all matches of a line, which takes the square
        of its length where each could have been a longer one (`f.*g|h` in one line of a script). So
        the rest of the line is made part of the first; other expressions are found sooner as they
        are.
        """
        if "--fixed-strings" in self.flags or not _looks_far_ahead(self.pattern):
            return self
        return Expression(b"(?:" + self.pattern + rb")(?-u:[^\n])*", (*self.flags, _ROOM))

    @property
    def in_bytes(self) -> Expression | None:
        """What every file has among its bytes that matches or is binary; more may have it.

        It is looked for without regard to how a file is written, so that what was searched are
        its bytes. None where only the expression itself can tell.
        """
        if self.literal is None:
            return None
        text = "".join(f"\\{sign}" if sign in _SIGNS else sign for sign in self._tail())
        return Expression(rf"{_UTF16}|\x00|{text}".encode(), _AS_BYTES)

    def _tail(self) -> str:
        """Return the text from its rarest character on, to be found by its first byte.

        Beside a single byte, NUL, ripgrep looks for first bytes: half the time is lost on common
        ones.
        """
        text = self.pattern.decode()
        last = max(0, min(len(text) // 2, len(text) - _SHORTEST))
        return text[min(range(last + 1), key=lambda at: _RAREST_FIRST.find(text[at])) :]


_UNICODE: Final = re.compile(rb"\\[pPuU]|\\x\{|\(\?[a-zA-Z-]*[ux]")
"""What names characters by their numbers or properties in Unicode, asks for its rules, or may be
written with blanks in between."""
_TOKEN: Final = re.compile(
    rb"""
    \\. | \[\^?\]? (?:\\. | [^]\\])* \]                # a sign, a class of signs
    | \(\?[a-zA-Z-]+\) | \((?:\?[^:<)]*(?::|<\w*>))?     # flags, the start of a group
    | \)(?:[?*+] | \{[\d,]+\})? | [|*+] | \{\d*,\}       # its end, and what counts outside
    """,
    re.VERBOSE | re.DOTALL,
)
_BLANKS: Final = re.compile(rb"\(\?[a-zA-Z]*x")
_WITHOUT_END: Final = (b"*", b"+", b",}")
_OPTIONAL: Final = (b"?", b"*", b"{")
_ROOM: Final = "--regex-size-limit=200M"
"""More than is asked of an expression when it is checked, so that what was fine still is."""
_SHORTEST: Final = 6
_RAREST_FIRST: Final = (
    "^?~`ZJj!%$|Q@Y+zW[\\]<K&V7X{q5}#698GB4'F:H3/wUkOM>y2LDNPR=1vCxSA.\"T*;Ibg-Eh)(m0,fpuldconairs"
    "_te "
)
"""Characters of sources and texts, the rarest first; all others are rarer."""
_SIGNS: Final = frozenset(r"\.+*?()|[]{}^$#&-~")
_AS_BYTES: Final = ("--case-sensitive", "--encoding=none")
_UTF16: Final = r"(?-u:\xff\xfe|\xfe\xff)"
NUL: Final = Expression(b"\0", ("--fixed-strings", "--case-sensitive"))


def _looks_far_ahead(pattern: bytes) -> bool:
    """Return whether something of any length may be left out, or stand in place of another.

    Of what may be written with blanks in between that is not told.
    """
    if _BLANKS.search(pattern):
        return True
    repeats, chooses = [False], [False]  # of each group around, the outermost first
    for token in _TOKEN.findall(pattern):
        if token.startswith(b"(?") and token.endswith(b")"):
            continue
        if token.startswith(b"("):
            repeats.append(False)
            chooses.append(False)
        elif token.startswith(b")"):
            repeated, chosen = repeats.pop(), chooses.pop()
            if not repeats or (repeated and (chosen or token[1:2] in _OPTIONAL)):
                return True
            repeats[-1] |= repeated or token.endswith(_WITHOUT_END)
        elif token == b"|":
            chooses[-1] = True
        elif token.endswith(_WITHOUT_END):
            repeats[-1] = True
    return len(repeats) > 1 or (repeats[0] and chooses[0])


def expression(query: Query) -> Expression:
    """Return what the query looks for.

    Raises:
        Invalid: QUERY_EMPTY for white space only; QUERY_INVALID for a line break.

    """
    if not query.text.strip():
        raise Invalid("query is empty", code="QUERY_EMPTY", hint="Send the text to look for.")
    if "\n" in query.text or "\r" in query.text:
        raise Invalid(
            "query holds a line break; a search looks at one line at a time",
            code="QUERY_INVALID",
            hint="Send one line of it.",
        )
    try:
        pattern = query.text.encode()
    except UnicodeEncodeError:
        raise Invalid(
            "query holds half a character (a lone surrogate)",
            code="QUERY_INVALID",
            hint="Send whole characters.",
        ) from None
    kind = () if query.regex else ("--fixed-strings",)
    return Expression(pattern, (*kind, _CASES[query.case]))
