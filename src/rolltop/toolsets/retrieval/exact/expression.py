"""A query as ripgrep takes it."""

from __future__ import annotations

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


NUL: Final = Expression(b"\0", ("--fixed-strings", "--case-sensitive"))


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
