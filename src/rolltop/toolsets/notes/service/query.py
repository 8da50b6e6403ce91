"""The query language of lists: words, phrases, -words, tag:, before: and after:."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Final

from rolltop.core.arguments import shown, storable
from rolltop.core.errors import Invalid
from rolltop.core.search import phrases
from rolltop.toolsets.notes.models import MOST_TAGS, Sort, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.search.phrases import Phrase

_DAY: Final = 24 * 3600.0
_EPOCH: Final = date(1970, 1, 1)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_QUOTED: Final = r'["“”]([^"“”]*)(?:["“”]|$)'
_TOKEN: Final = re.compile(
    rf"(?P<minus>-?)(?:(?P<key>tag|before|after):(?:{_QUOTED}|(?P<value>\S+))"
    rf'|{_QUOTED}|(?P<word>[^\s"“”]+))',
    re.IGNORECASE,
)
_KEY_QUOTED, _QUOTED_TEXT = 3, 5
_LONGEST_SYMBOL: Final = 100
_TRASH: Final = {0: False, 1: True, 2: None}


@dataclass(frozen=True)
class Question:
    """What a caller of note_list gives, as it was given."""

    q: str | None = None
    tags: Sequence[str] = ()
    trash_s: int = 0
    dt_before: str | None = None
    dt_after: str | None = None
    sort: Sort | None = None


@dataclass
class _Read:
    """What has been read of a query so far."""

    tags: list[str] = field(default_factory=list[str])
    untagged: list[str] = field(default_factory=list[str])
    before: list[float] = field(default_factory=list[float])
    after: list[float] = field(default_factory=list[float])
    named: list[Phrase] = field(default_factory=list["Phrase"])
    quoted: list[Phrase] = field(default_factory=list["Phrase"])
    unwanted: list[Phrase] = field(default_factory=list["Phrase"])
    symbols: list[str] = field(default_factory=list[str])


def wanted(question: Question) -> Wanted:
    """Return what a list is of. Raises Invalid: INVALID_DATE; INVALID_TEXT, INVALID_TAGS for tags.

    Of each kind of thing in `q` so many count as a note can have, or a search can bear.
    """
    read = _Read()
    read.tags += [storable(tag, "tags") for tag in question.tags]
    if len(read.tags) > MOST_TAGS:
        raise Invalid(
            f"tags holds {len(read.tags)} entries; a note has at most {MOST_TAGS}",
            code="INVALID_TAGS",
            hint="Send the few tags that every note of the list must have.",
        )
    if question.dt_before is not None:
        read.before.append(_end_of(question.dt_before, "dt_before"))
    if question.dt_after is not None:
        read.after.append(_start_of(question.dt_after, "dt_after"))
    for found in _TOKEN.finditer(_cleaned(question.q or "")):
        _take(read, found)
    telling = [name for name in read.named if phrases.is_telling(name)]
    named = telling or ([] if read.quoted else read.named)
    sought = tuple(dict.fromkeys([*read.quoted, *named]))[: phrases.MOST]
    return Wanted(
        tags=tuple(dict.fromkeys(read.tags))[:MOST_TAGS],
        untagged=tuple(dict.fromkeys(read.untagged))[:MOST_TAGS],
        trash=_TRASH[question.trash_s],
        before=min(read.before, default=None),
        after=max(read.after, default=None),
        phrases=sought,
        unwanted=tuple(dict.fromkeys(read.unwanted))[: phrases.MOST],
        symbols=tuple(dict.fromkeys(read.symbols))[: phrases.MOST],
        sort=_order(question.sort, is_search=bool(sought)),
    )


def _take(read: _Read, found: re.Match[str]) -> None:
    """Add what one token of a query asks for."""
    key, minus = (found["key"] or "").lower(), bool(found["minus"])
    value = found[_KEY_QUOTED] if found["value"] is None else found["value"]
    if key == "tag" and value:
        (read.untagged if minus else read.tags).append(value)
    elif key == "before" and not minus:
        read.before.append(_end_of(value, "before:"))
    elif key == "after" and not minus:
        read.after.append(_start_of(value, "after:"))
    elif found[_QUOTED_TEXT] is not None:
        _take_text(read, found[_QUOTED_TEXT], minus=minus, is_quoted=True)
    else:
        _take_text(read, found["word"] or found[0].lstrip("-"), minus=minus, is_quoted=False)


def _take_text(read: _Read, text: str, *, minus: bool, is_quoted: bool) -> None:
    words = phrases.phrase(text) if is_quoted else phrases.name(text)
    if not words:
        # Without a letter or digit: ASCII marks are let go, others (an emoji) are looked up.
        if text.strip() and not text.isascii() and not minus:
            read.symbols.append(text.strip()[:_LONGEST_SYMBOL])
    elif minus:
        read.unwanted.append(words)
    else:
        (read.quoted if is_quoted else read.named).append(words)


def _order(sort: Sort | None, *, is_search: bool) -> Sort:
    if sort is None:
        return "rank" if is_search else "modified"
    return "modified" if sort == "rank" and not is_search else sort


def _cleaned(q: str) -> str:
    """Return a query without what no text here can hold."""
    return q.replace("\x00", " ").encode("utf-8", "replace").decode()


def _start_of(text: str, name: str) -> float:
    """Return the moment at which a day begins in UTC."""
    try:
        # An isoformat with weeks or without dashes is none that the page names.
        day = date.fromisoformat(text if _DATE.fullmatch(text) else "")
    except ValueError:
        raise Invalid(
            f"{name} needs a date as YYYY-MM-DD; got {shown(text)}",
            code="INVALID_DATE",
            hint="Write a day of the calendar, as 2026-01-31; to search for the words, quote them.",
        ) from None
    return (day - _EPOCH).days * _DAY


def _end_of(text: str, name: str) -> float:
    return _start_of(text, name) + _DAY
