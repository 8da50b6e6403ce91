"""A value becomes a compact answer within a token budget, with the call that continues it.

The budget is counted on the text as sent: the compact JSON of the structured answer. A list
is cut at an item, a text at a line; a line that alone is over the budget at a character.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, cast

from rolltop.core import tokens
from rolltop.core.errors import Invalid

JsonObject = dict[str, Any]

MINIMUM = 200
"""Tokens: the smallest budget a caller or a setting may name (0 in the setting: no bound)."""
_ELLIPSIS = "…"
_CHARACTERS_PER_TOKEN = 4
_MOST_CHARACTERS = 128
"""No token stands for more."""
_PROBES = 24
_LABEL = 40
"""Characters: ids, dates and names are ASCII, no longer than that, and never cut."""
_FEWER = (None, 20, 5, 1, 0, -1)
"""Entries a list of texts may keep, tried in turn where cutting the texts is not enough.

The mark that follows says how many are missing; at −1 it alone is left.
"""
_EXACT = frozenset({"next", "next_cursor", "path"})
"""Fields of which a part is of no use."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_SURROGATE = re.compile("[\ud800-\udfff]")

Finish = Callable[[dict[str, Any], dict[str, object], "str | None"], dict[str, Any]]
"""`finish(result, changed_arguments, cursor)` marks a cut result and says how it goes on."""
Larger = Callable[[int], "dict[str, Any] | None"]
"""`larger(tokens)` is the call whose answer may be that long, None where none may."""


class Focused(str):
    """A text that is cut on both sides of the character `at`, where it does not fit.

    Of an answer's texts it is cut last: only where of the others no more than marks are left.
    """

    __slots__ = ("at",)

    def __new__(cls, text: str, at: int) -> Self:
        """Return the text with the place in it that matters most."""
        made = super().__new__(cls, text)
        made.at = at
        return made

    def __reduce__(self) -> tuple[type[Focused], tuple[str, int]]:
        """Return what a copy is made of."""
        return Focused, (str(self), self.at)


class TooSmall(Invalid):
    """A budget that not even the shortest answer fits; `needed` tokens are the least that does."""

    def __init__(self, needed: int) -> None:
        """Name the call that would do."""
        super().__init__(
            f"max_tokens is too small for this answer: it takes at least {needed}",
            hint=f"Call again with max_tokens {max(needed, MINIMUM)} or more.",
        )
        self.needed = needed


class Whole(str):
    """A part of a text answer: as long as it is, whatever around it is cut."""

    __slots__ = ()


@dataclass(frozen=True)
class Continuation:
    """What continues a cut answer: arguments to change in the same call, ready to send."""

    tool: str
    arguments: Mapping[str, object]
    cursor: str | None = None

    @property
    def next(self) -> JsonObject:
        """The call as `{tool, arguments}`."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


class Cut(Protocol):
    """An answer that may be given in part: `size` units, of which the first n are rendered."""

    @property
    def size(self) -> int:
        """How many units the whole has."""
        ...

    @property
    def more(self) -> bool:
        """Whether there is more beyond the last unit."""
        ...

    def render(self, count: int) -> JsonObject:
        """Return the answer with the first `count` units."""
        ...

    def resume(self, count: int) -> tuple[dict[str, object], str | None]:
        """Return the changed arguments of the call that goes on after `count` units.

        The second value is the cursor among them, None if there is none.
        """
        ...

    def boundary(self, count: int) -> int:
        """Return the largest good place to cut at or below `count`; 0 if there is none."""
        ...


@dataclass(frozen=True)
class Page:
    """A list answer.

    `envelope(items)` puts items into their envelope, `cursor_after(i)` is the cursor that
    continues after item i, and `more` says that others follow the last. `reduced(item)` stands
    for an item that fits not even with its texts cut, or with its focus only where that is cut too;
    its own texts are cut then. Where the last
    item's texts are cut, the answer is a cut one, which the same call with a larger budget gets
    whole, unless `counts_only` says that only missing items make it so.
    """

    items: Sequence[JsonObject]
    envelope: Callable[[list[JsonObject]], JsonObject]
    cursor_after: Callable[[int], str]
    more: bool = False
    reduced: Callable[[JsonObject], JsonObject] | None = None
    counts_only: bool = False

    @property
    def size(self) -> int:
        """The number of items."""
        return len(self.items)

    def render(self, count: int) -> JsonObject:
        """Return the envelope around the first `count` items."""
        return self.envelope(list(self.items[:count]))

    def resume(self, count: int) -> tuple[dict[str, object], str | None]:
        """Return the cursor argument that goes on after `count` items."""
        cursor = self.cursor_after(count - 1)
        return {"cursor": cursor}, cursor

    def boundary(self, count: int) -> int:
        """Every item is a place to cut."""
        return count


@dataclass(frozen=True)
class Text:
    """A text answer.

    `envelope(part)` puts the text's first characters into their envelope, `resume_at(end)` is
    the changed arguments of the call that goes on at character `end`. An envelope that takes the
    part to pieces makes each `Whole`.
    """

    text: str
    envelope: Callable[[str], JsonObject]
    resume_at: Callable[[int], dict[str, object]]
    more: bool = False

    @property
    def size(self) -> int:
        """The number of characters (code points)."""
        return len(self.text)

    def render(self, count: int) -> JsonObject:
        """Return the envelope around the first `count` characters."""
        return self.envelope(Whole(self.text[:count]))

    def resume(self, count: int) -> tuple[dict[str, object], str | None]:
        """Return the arguments that go on at character `count`."""
        return self.resume_at(count), None

    def boundary(self, count: int) -> int:
        """Return the end of the last whole line within `count` characters; 0 if none ends."""
        return self.text.rfind("\n", 0, count) + 1


def compact(value: object) -> str:
    """Return the JSON text of a value as it is sent: no spaces, no escapes but the needed."""
    return _encode(value)


def count(value: object) -> int:
    """Return the tokens of a value's JSON text as sent (cl100k_base)."""
    return tokens.count(compact(value))


def within(value: object, limit: int) -> bool:
    """Whether a value's JSON text as sent costs at most `limit` tokens (0: no bound)."""
    if not limit:
        return True
    return _fits(compact(value), limit)


def sent(result: JsonObject) -> tuple[JsonObject, str]:
    """Return an answer as it can be sent, and its JSON text."""
    text = compact(result)
    if text.isascii() or not _SURROGATE.search(text):
        return result, text
    result = sendable(result)
    return result, compact(result)


def whole(result: Cut | JsonObject, limit: int, finish: Finish) -> tuple[JsonObject, str] | None:
    """Return an answer and its JSON text where all of it fits (limit 0: always), else None."""
    if not isinstance(result, dict):
        if _is_over(result, limit):
            return None
        size = result.size
        result = _part(result, size, finish) if result.more else result.render(size)
    answer, text = sent(result)
    return (answer, text) if not limit or _fits(text, limit) else None


def _fits(text: str, limit: int) -> bool:
    # A token stands for one byte or more: neither a short text nor a very long one need be counted.
    if len(text) > limit * _MOST_CHARACTERS:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= limit or tokens.count(text) <= limit


def _is_over(cut: Cut, limit: int) -> bool:
    """Whether a text is surely too long."""
    return limit > 0 and isinstance(cut, Text) and cut.size >= limit * _MOST_CHARACTERS


def sendable(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return the JSON value with each lone surrogate replaced: no transport can carry one."""
    if isinstance(value, str):
        return value if value.isascii() else _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {sendable(key): sendable(entry) for key, entry in items}
    if isinstance(value, list | tuple):
        return [sendable(entry) for entry in cast("Sequence[Any]", value)]
    return value


def fit(cut: Cut, limit: int, finish: Finish) -> JsonObject:
    """Return the longest answer of at most `limit` tokens (0: no bound).

    Raises:
        TooSmall: not even the shortest answer fits.

    """
    fitting = whole(cut, limit, finish)
    return fitting[0] if fitting else fit_part(cut, limit, finish)


def fit_part(cut: Cut, limit: int, finish: Finish) -> JsonObject:
    """Return the longest part within `limit` tokens of an answer that is known not to fit whole.

    Raises:
        TooSmall: not even the shortest answer fits.

    """
    fitting = _largest(cut, limit, finish)
    if fitting and not _is_crowded(cut, fitting, limit):
        return _part(cut, _end(cut, fitting, limit, finish), finish)
    return _reduced(cut, limit, finish) if isinstance(cut, Page) else _squeezed(cut, limit, finish)


def fit_object(
    result: JsonObject, limit: int, *, was_kept: bool = False, larger: Larger | None = None
) -> JsonObject:
    """Return the object within `limit` tokens (0: no bound), its longest texts cut with `…`.

    For answers that are one thing. A cut one says `truncated`, and `larger(tokens)`, where it
    answers one, is the call that gets it whole. What a write kept (`was_kept`) is answered as
    short as can be even where that is over the limit.

    Raises:
        TooSmall: not even the shortest answer fits.

    """
    if within(result, limit):
        return result
    return fit_shortened(result, limit, was_kept=was_kept, larger=larger)


def fit_shortened(
    result: JsonObject, limit: int, *, was_kept: bool, larger: Larger | None
) -> JsonObject:
    """Return what `fit_object` does of an object that is known not to fit whole."""
    cut = {**result, "truncated": True}
    again = larger(count(result)) if larger else None
    shortened = shorten({**cut, "next": again}, limit) if again else None
    shortened = shortened or shorten(cut, limit)
    if shortened is not None:
        return shortened
    if was_kept:
        return _shortest(cut)
    raise TooSmall(count(_shortest(cut)))


def shorten(result: JsonObject, limit: int) -> JsonObject | None:
    """Return the object with its texts, then its lists of texts, cut to fit; None if none does."""
    caps = _caps(result, limit)
    return None if caps is None else _with_cap(result, *caps)


def _caps(result: JsonObject, limit: int) -> tuple[int, int | None] | None:
    """Return how long texts and lists of texts may be for the object to fit, None if none does."""
    for most in _FEWER:
        if count(_with_cap(result, 1, most)) <= limit:
            return _longest_cap(result, limit, most), most
    return None


def _shortest(result: JsonObject) -> JsonObject:
    return _with_cap(result, 1, _FEWER[-1])


def _longest_cap(result: JsonObject, limit: int, most: int | None) -> int:
    """Return the longest cap of texts with which the object fits, where a cap of 1 does."""
    low, high, best = 2, max(2, limit * _CHARACTERS_PER_TOKEN) + _focus(result), 1
    while low <= high:
        middle = (low + high) // 2
        if count(_with_cap(result, middle, most)) <= limit:
            low, best = middle + 1, middle
        else:
            high = middle - 1
    return best


def _focus(value: Any) -> int:  # noqa: ANN401  # any JSON value
    """Return the length of the longest text with a focus, 0 for none."""
    if isinstance(value, dict):
        return max(map(_focus, cast("dict[str, Any]", value).values()), default=0)
    if isinstance(value, list):
        return max(map(_focus, cast("list[Any]", value)), default=0)
    return len(value) if isinstance(value, Focused) else 0


def _with_cap(result: JsonObject, cap: int, most: int | None) -> JsonObject:
    """Return the object with texts cut to `cap` characters, lists of texts to `most` entries.

    Beside one with a focus other texts have what is over when that is whole. The mark is counted
    in a text; in a list it is one entry more, which says how many are missing.
    """
    return _capped(result, cap, max(1, cap - _focus(result)), most)


def _capped(value: Any, focused: int, cap: int, most: int | None) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, str):
        cap = focused if isinstance(value, Focused) else cap
        is_label = len(value) <= _LABEL and value.isascii()
        is_kept = is_label or len(value) <= cap or isinstance(value, Whole)
        return value if is_kept else _cut(value, cap)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {k: e if k in _EXACT else _capped(e, focused, cap, most) for k, e in items}
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        is_texts = entries and all(isinstance(entry, str) for entry in entries)
        if is_texts and most is not None and most < len(entries):
            kept = [_capped(entry, focused, cap, most) for entry in entries[: max(most, 0)]]
            return [*kept, _ELLIPSIS if most < 0 else f"{len(entries) - most} more {_ELLIPSIS}"]
        return [_capped(entry, focused, cap, most) for entry in entries]
    return value


def _cut(text: str, cap: int) -> str:
    """Return `cap` characters of a longer text, marks counted: the first, or those in its focus."""
    before, start = cap // 4, 0
    if before and isinstance(text, Focused) and text.at >= cap - before:
        start = min(text.at - before, len(text) - cap + 1)
    part = text[start : start + cap - bool(start)]
    part = part[:-1] + _ELLIPSIS if start + len(part) < len(text) else part
    return _ELLIPSIS + part if start else part


def _part(cut: Cut, units: int, finish: Finish) -> JsonObject:
    changed, cursor = cut.resume(units)
    return finish(cut.render(units), changed, cursor)


def _largest(cut: Cut, limit: int, finish: Finish) -> int:
    """Return the largest number of units whose answer fits, 0 if not even one does.

    Cost grows nearly linearly with the units, so each probe is placed by the cost of the
    last; halving takes over where that does not converge.
    """
    low, high = 0, cut.size
    probe = min(high, max(1, limit * _CHARACTERS_PER_TOKEN if isinstance(cut, Text) else 32))
    for attempt in range(_PROBES):
        cost = count(_part(cut, probe, finish))
        if cost <= limit:
            low = probe
            if limit - cost <= limit // 200:
                break
        else:
            high = probe - 1
        if low >= high:
            break
        guess = probe * limit // cost if attempt % 4 < 3 else 0  # noqa: PLR2004  # see above
        probe = guess if low < guess <= high else (low + high + 1) // 2
    return low


def _is_crowded(cut: Cut, fitting: int, limit: int) -> bool:
    """Whether what stands around a text leaves less than a quarter of the room to it."""
    if not isinstance(cut, Text) or fitting == cut.size or not _keeps(cut.render(1)):
        return False
    return count(cut.text[:fitting]) < limit // 4


def _end(cut: Cut, fitting: int, limit: int, finish: Finish) -> int:
    """Return where to cut what fits: at a line, unless the next is too long for any answer."""
    place = cut.boundary(fitting)
    if not isinstance(cut, Text) or not 0 < place < fitting:
        return place or fitting
    line = cut.text[place : place + limit * _MOST_CHARACTERS].partition("\n")[0]
    begun = line[: 2 * limit * _CHARACTERS_PER_TOKEN]
    if len(begun) < len(line) and not within(begun, limit):
        return fitting  # it need not be counted to its end
    alone = finish(cut.envelope(Whole(line)), *cut.resume(place + len(line)))
    return place if within(alone, limit) else fitting


def _reduced(cut: Page, limit: int, finish: Finish) -> JsonObject:
    """Return the first item with its texts cut, or say how large a budget the answer needs."""
    first = _first(cut, finish)
    shortened = shorten(first, limit)
    is_shown = shortened is not None and _focus(shortened) == _focus(first)
    if not is_shown and cut.items and cut.reduced:
        least = [cut.reduced(cut.items[0]), *cut.items[1:]]
        first = _first(replace(cut, items=least), finish)
        shortened = shorten(first, limit)
    if shortened is None:
        raise TooSmall(count(_shortest(first)))
    return shortened


def _first(page: Page, finish: Finish) -> JsonObject:
    """Return the first item, with what goes on: the next ones, or a budget for all of this one."""
    some = min(1, page.size)
    if page.more or page.size > some:
        return _part(page, some, finish)
    answer = page.render(some)
    if page.counts_only:
        return answer
    return finish(answer, {"max_tokens": max(count(answer), MINIMUM)}, None)


def _squeezed(cut: Cut, limit: int, finish: Finish) -> JsonObject:
    """Return a beginning of the text where what stands around it is cut, for it does not fit.

    Where that is all of the text, what goes on is the call with a budget for all of the answer.
    """
    first = _part(cut, min(1, cut.size), finish)
    least = count(_shortest(first))
    caps = _caps(first, max(limit // 2, (least + limit) // 2))
    if caps is None:
        raise TooSmall(least)
    cap, most = caps

    def squeezed(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
        return _with_cap(finish(part, changed, cursor), cap, most)

    fitting = _largest(cut, limit, squeezed) if _keeps(first) else 0
    end = _end(cut, fitting, limit, squeezed) if fitting else min(1, cut.size)
    if end < cut.size or cut.more:
        return _part(cut, end, squeezed)
    answer = cut.render(end)
    return squeezed(answer, {"max_tokens": max(count(answer), MINIMUM)}, None)


def _keeps(value: Any) -> bool:  # noqa: ANN401  # any JSON value
    """Whether an answer holds its part of a text in pieces that are cut nowhere else."""
    if isinstance(value, dict):
        return any(map(_keeps, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(_keeps, cast("list[Any]", value)))
    return isinstance(value, Whole)
