"""A value becomes a compact answer within a token budget, with the call that continues it.

The budget is counted on the text as sent: the compact JSON of the structured answer. A list
is cut at an item, a text at a line; a line that alone is over the budget at a character.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self, cast

from typing_extensions import TypedDict

from rolltop.core import token_counter
from rolltop.core.errors import InvalidArgument

JsonObject = dict[str, Any]

MIN_BUDGET = 200
"""Tokens: the smallest budget a caller or a setting may name (0 in the setting: no bound)."""
_ELLIPSIS = "…"
_CHARACTERS_PER_TOKEN = 4
_MAX_CHARACTERS_PER_TOKEN = 128
"""No token stands for more."""
_MAX_PROBES = 24
_MAX_LABEL_CHARACTERS = 40
"""Characters: ids, dates and names are ASCII, no longer than that, and never cut."""
_LIST_CAPS = (None, 20, 5, 1, 0)
"""Entries a list of texts may have, tried in turn where cutting the texts is not enough.

A longer one is left out, and named in `omitted`: a part of it would be taken for the whole.
"""
_OMITTED = "omitted"
_VERBATIM_FIELDS = frozenset({"next", "next_cursor", "path", _OMITTED})
"""Fields of which a part is of no use."""
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")

AttachContinuation = Callable[[dict[str, Any], dict[str, object], "str | None"], dict[str, Any]]
"""`finish(result, changed_arguments, cursor)` marks a cut result and says how it goes on."""
LargerBudgetCall = Callable[[int], "dict[str, Any] | None"]
"""`larger(tokens)` is the call whose answer may be that long, or None."""


class FocusedText(str):
    """A text that is cut on both sides of the character `at`, where it does not fit.

    Of an answer's texts it is cut last: only where of the others no more than marks are left.
    """

    __slots__ = ("at",)

    def __new__(cls, text: str, at: int) -> Self:
        """Return the text with the place in it that matters most."""
        made = super().__new__(cls, text)
        made.at = at
        return made

    def __reduce__(self) -> tuple[type[FocusedText], tuple[str, int]]:
        """Return the arguments of a copy."""
        return FocusedText, (str(self), self.at)


class BudgetTooSmall(InvalidArgument):
    """A budget that not even the shortest answer fits; `needed` tokens are the least that does."""

    def __init__(self, needed: int, what: str = "this answer") -> None:
        """Name the call that would do for `what` was asked for."""
        super().__init__(
            f"max_tokens is too small for {what}: it takes at least {needed}",
            hint=f"Call again with max_tokens {max(needed, MIN_BUDGET)} or more.",
        )
        self.needed = needed


class VerbatimText(str):
    """A part of a text answer: as long as it is, whatever around it is cut."""

    __slots__ = ()


class AddressText(str):
    """An address in an answer: never cut, and not part of the seeds' answers.

    What it says, an answer says in other fields too: it is left out before these are.
    """

    __slots__ = ()


class NextCall(TypedDict):
    """A call that is ready to send: an answer's `next`."""

    tool: str
    arguments: JsonObject


@dataclass(frozen=True)
class Continuation:
    """What continues a cut answer: arguments to change in the same call, ready to send."""

    tool: str
    arguments: Mapping[str, object]
    cursor: str | None = None

    @property
    def next(self) -> NextCall:
        """The call that continues the answer."""
        return {"tool": self.tool, "arguments": dict(self.arguments)}


def add_continuation(result: JsonObject, continuation: Continuation) -> JsonObject:
    """Mark an answer as truncated, and add the call that continues it."""
    cursor = {"next_cursor": continuation.cursor} if continuation.cursor else {}
    return {**result, "truncated": True, **cursor, "next": continuation.next}


def format_timestamp(value: datetime) -> str:
    """Return an aware UTC datetime in ISO 8601 with microseconds and `Z`."""
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Page:
    """A list answer.

    `envelope(items)` puts items into their envelope, `cursor_after(i)` is the cursor that
    continues after item i, and `more` says that others follow the last. `reduce_item(item)` stands
    for an item that fits not even with its texts cut, or with its focus only where that is cut too;
    its own texts are cut then. Where the last
    item's texts are cut, the answer is a cut one, which the same call with a larger budget gets
    whole, unless `counts_only` says that only missing items make it so.
    """

    items: Sequence[JsonObject]
    envelope: Callable[[list[JsonObject]], JsonObject]
    cursor_after: Callable[[int], str]
    has_more: bool = False
    reduce_item: Callable[[JsonObject], JsonObject] | None = None
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

    def last_boundary(self, count: int) -> int:
        """Every item is a place to cut."""
        return count


@dataclass(frozen=True)
class TextPage:
    """A text answer.

    `envelope(part)` puts the text's first characters into their envelope, `resume_at(end)` is
    the changed arguments of the call that goes on at character `end`. An envelope that takes the
    part to pieces makes each `VerbatimText`.
    """

    text: str
    envelope: Callable[[str], JsonObject]
    resume_at: Callable[[int], dict[str, object]]
    has_more: bool = False

    @property
    def size(self) -> int:
        """The number of characters (code points)."""
        return len(self.text)

    def render(self, count: int) -> JsonObject:
        """Return the envelope around the first `count` characters."""
        return self.envelope(VerbatimText(self.text[:count]))

    def resume(self, count: int) -> tuple[dict[str, object], str | None]:
        """Return the arguments that go on at character `count`."""
        return self.resume_at(count), None

    def last_boundary(self, count: int) -> int:
        """Return the end of the last whole line within `count` characters; 0 if none ends."""
        return self.text.rfind("\n", 0, count) + 1


Truncatable = Page | TextPage
"""An answer that may be given in part: `size` units, of which the first n are rendered.

`resume(n)` are the changed arguments of the call that goes on after n units, and the cursor among
them if there is one; `last_boundary(n)` is the largest good place to cut at or below n.
"""


def compact_json(value: object) -> str:
    """Return the JSON text of a value as it is sent: no spaces, no escapes but the needed."""
    return _encode(value)


def count_tokens(value: object) -> int:
    """Return the tokens of a value's JSON text as sent (cl100k_base)."""
    return token_counter.count(compact_json(value))


def fits_budget(value: object, limit: int) -> bool:
    """Whether a value's JSON text as sent costs at most `limit` tokens (0: no bound)."""
    if not limit:
        return True
    return _text_fits(compact_json(value), limit)


def count_fitting(most: int, limit: int, render: Callable[[int], object]) -> int:
    """Return how many of `most` parts, as `render(count)` shows them, fit `limit` tokens (0: all).

    Never renders more than twice what fits: all of it may be much longer than the limit.
    """
    high = 1
    while high < most and fits_budget(render(high), limit):
        high *= 2
    counts = range(1, min(high, most) + 1)
    return bisect_right(counts, 0, key=lambda count: not fits_budget(render(count), limit))


def without_addresses(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return an answer without the fields that are addresses of ours."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return {
            name: without_addresses(part)
            for name, part in fields
            if not isinstance(part, AddressText)
        }
    if isinstance(value, list):
        return [without_addresses(part) for part in cast("list[Any]", value)]
    return value


def serialize(result: JsonObject) -> tuple[JsonObject, str]:
    """Return an answer as it can be sent, and its JSON text."""
    text = compact_json(result)
    if text.isascii() or not _LONE_SURROGATE.search(text):
        return result, text
    result = replace_surrogates(result)
    return result, compact_json(result)


def serialize_whole(
    result: Truncatable | JsonObject, limit: int, finish: AttachContinuation
) -> tuple[JsonObject, str] | None:
    """Return an answer and its JSON text where all of it fits (limit 0: always), else None."""
    if not isinstance(result, dict):
        size = result.size
        if isinstance(result, TextPage) and 0 < limit * _MAX_CHARACTERS_PER_TOKEN <= size:
            return None
        result = _render_part(result, size, finish) if result.has_more else result.render(size)
    answer, text = serialize(result)
    return (answer, text) if not limit or _text_fits(text, limit) else None


def _text_fits(text: str, limit: int) -> bool:
    # A token stands for one byte or more: neither a short text nor a very long one need be counted.
    if len(text) > limit * _MAX_CHARACTERS_PER_TOKEN:
        return False
    return len(text.encode("utf-8", "surrogatepass")) <= limit or token_counter.count(text) <= limit


def replace_surrogates(value: Any) -> Any:  # noqa: ANN401  # any JSON value
    """Return the JSON value with each lone surrogate replaced: no transport can carry one."""
    if isinstance(value, str):
        return value if value.isascii() else _LONE_SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        items = cast("dict[str, Any]", value).items()
        return {replace_surrogates(key): replace_surrogates(entry) for key, entry in items}
    if isinstance(value, list | tuple):
        return [replace_surrogates(entry) for entry in cast("Sequence[Any]", value)]
    return value


def truncate(cut: Truncatable, limit: int, finish: AttachContinuation) -> JsonObject:
    """Return the longest answer of at most `limit` tokens (0: no bound).

    Raises BudgetTooSmall: not even the shortest answer fits.
    """
    fitting = serialize_whole(cut, limit, finish)
    return fitting[0] if fitting else truncate_part(cut, limit, finish)


def truncate_part(cut: Truncatable, limit: int, finish: AttachContinuation) -> JsonObject:
    """Return the longest part within `limit` tokens of an answer that is known not to fit whole.

    Raises BudgetTooSmall: not even the shortest answer fits.
    """
    fitting = _max_fitting_units(cut, limit, finish)
    if fitting and not _is_crowded(cut, fitting, limit):
        return _render_part(cut, _choose_end(cut, fitting, limit, finish), finish)
    return (
        _reduce_first_item(cut, limit, finish)
        if isinstance(cut, Page)
        else _truncate_around_text(cut, limit, finish)
    )


def truncate_object(
    result: JsonObject,
    limit: int,
    *,
    is_committed: bool = False,
    larger: LargerBudgetCall | None = None,
) -> JsonObject:
    """Return the object within `limit` tokens (0: no bound), its longest texts cut with `…`.

    For answers that are one thing. A cut one says `truncated`, and `larger(tokens)`, where it
    answers one, is the call that gets it whole. What a write kept (`is_committed`) is answered as
    short as can be even where that is over the limit. Raises BudgetTooSmall: not even the shortest
    answer fits.
    """
    if fits_budget(result, limit):
        return result
    cut = {**result, "truncated": True}
    again = larger(count_tokens(result)) if larger else None
    shortened = truncate_texts({**cut, "next": again}, limit) if again else None
    shortened = shortened or truncate_texts(cut, limit)
    if shortened is not None:
        return shortened
    if is_committed:
        return _truncate_to_minimum(cut)
    raise BudgetTooSmall(count_tokens(_truncate_to_minimum(cut)))


def truncate_texts(result: JsonObject, limit: int) -> JsonObject | None:
    """Return the object with its texts, then its lists of texts, cut to fit; None if none does."""
    caps = _find_caps(result, limit)
    return None if caps is None else _apply_caps(result, *caps)


def _find_caps(result: JsonObject, limit: int) -> tuple[int, int | None] | None:
    """Return how long texts and lists of texts may be for the object to fit, None if none does."""
    for most in _LIST_CAPS:
        if count_tokens(_apply_caps(result, 1, most)) <= limit:
            return _max_text_cap(result, limit, most), most
    return None


def _truncate_to_minimum(result: JsonObject) -> JsonObject:
    return _apply_caps(result, 1, _LIST_CAPS[-1])


def _max_text_cap(result: JsonObject, limit: int, most: int | None) -> int:
    """Return the longest cap of texts with which the object fits, where a cap of 1 does."""
    low, high, best = 2, max(2, limit * _CHARACTERS_PER_TOKEN) + _max_focused_length(result), 1
    while low <= high:
        middle = (low + high) // 2
        if count_tokens(_apply_caps(result, middle, most)) <= limit:
            low, best = middle + 1, middle
        else:
            high = middle - 1
    return best


def _max_focused_length(value: Any) -> int:  # noqa: ANN401  # any JSON value
    """Return the length of the longest text with a focus, 0 for none."""
    if isinstance(value, dict):
        return max(map(_max_focused_length, cast("dict[str, Any]", value).values()), default=0)
    if isinstance(value, list):
        return max(map(_max_focused_length, cast("list[Any]", value)), default=0)
    return len(value) if isinstance(value, FocusedText) else 0


def _apply_caps(result: JsonObject, cap: int, most: int | None) -> JsonObject:
    """Return the object with texts cut to `cap` characters, without lists of over `most` texts.

    Beside one with a focus other texts have what is over when that is whole. The mark is counted.
    """
    return _truncate_value(result, cap, max(1, cap - _max_focused_length(result)), most)


def _truncate_value(value: Any, focused: int, cap: int, most: int | None) -> Any:  # noqa: ANN401  # any JSON value
    if isinstance(value, str):
        cap = focused if isinstance(value, FocusedText) else cap
        is_label = len(value) <= _MAX_LABEL_CHARACTERS and value.isascii()
        is_kept = is_label or len(value) <= cap or isinstance(value, VerbatimText | AddressText)
        return value if is_kept else _truncate_text(value, cap)
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        left_out = [name for name, entry in fields.items() if _is_too_long(name, entry, most)]
        kept = {
            k: e if k in _VERBATIM_FIELDS else _truncate_value(e, focused, cap, most)
            for k, e in fields.items()
            if k not in left_out and (most is None or not isinstance(e, AddressText))
        }
        return {**kept, _OMITTED: [*kept.get(_OMITTED, []), *left_out]} if left_out else kept
    if isinstance(value, list):
        entries = cast("list[Any]", value)
        return [_truncate_value(entry, focused, cap, most) for entry in entries]
    return value


def _is_too_long(name: str, entry: Any, most: int | None) -> bool:  # noqa: ANN401  # any JSON value
    """Whether a field is a list of more than `most` texts (None: no bound)."""
    if most is None or not isinstance(entry, list) or name in _VERBATIM_FIELDS:
        return False
    texts = cast("list[Any]", entry)
    return len(texts) > most and all(isinstance(text, str) for text in texts)


def _truncate_text(text: str, cap: int) -> str:
    """Return `cap` characters of a longer text, marks counted: the first, or those in its focus."""
    before, start = cap // 4, 0
    if before and isinstance(text, FocusedText) and text.at >= cap - before:
        start = min(text.at - before, len(text) - cap + 1)
    part = text[start : start + cap - bool(start)]
    part = part[:-1] + _ELLIPSIS if start + len(part) < len(text) else part
    return _ELLIPSIS + part if start else part


def _render_part(cut: Truncatable, units: int, finish: AttachContinuation) -> JsonObject:
    changed, cursor = cut.resume(units)
    return finish(cut.render(units), changed, cursor)


def _max_fitting_units(cut: Truncatable, limit: int, finish: AttachContinuation) -> int:
    """Return the largest number of units whose answer fits, 0 if not even one does.

    Cost grows nearly linearly with the units, so each probe is placed by the cost of the
    last; halving takes over where that does not converge.
    """
    low, high = 0, cut.size
    probe = min(high, max(1, limit * _CHARACTERS_PER_TOKEN if isinstance(cut, TextPage) else 32))
    for attempt in range(_MAX_PROBES):
        cost = count_tokens(_render_part(cut, probe, finish))
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


def _is_crowded(cut: Truncatable, fitting: int, limit: int) -> bool:
    """Whether what stands around a text leaves less than a quarter of the room to it."""
    if (
        not isinstance(cut, TextPage)
        or fitting == cut.size
        or not _has_verbatim_text(cut.render(1))
    ):
        return False
    return count_tokens(cut.text[:fitting]) < limit // 4


def _choose_end(cut: Truncatable, fitting: int, limit: int, finish: AttachContinuation) -> int:
    """Return where to cut what fits: at a line, unless the next is too long for any answer."""
    place = cut.last_boundary(fitting)
    if not isinstance(cut, TextPage) or not 0 < place < fitting:
        return place or fitting
    line = cut.text[place : place + limit * _MAX_CHARACTERS_PER_TOKEN].partition("\n")[0]
    begun = line[: 2 * limit * _CHARACTERS_PER_TOKEN]
    if len(begun) < len(line) and not fits_budget(begun, limit):
        return fitting  # it need not be counted to its end
    alone = finish(cut.envelope(VerbatimText(line)), *cut.resume(place + len(line)))
    return place if fits_budget(alone, limit) else fitting


def _reduce_first_item(cut: Page, limit: int, finish: AttachContinuation) -> JsonObject:
    """Return the first item with its texts cut, or say how large a budget the answer needs."""
    first = _render_first_item(cut, finish)
    shortened = truncate_texts(first, limit)
    is_shown = shortened is not None and _max_focused_length(shortened) == _max_focused_length(
        first
    )
    if not is_shown and cut.items and cut.reduce_item:
        least = [cut.reduce_item(cut.items[0]), *cut.items[1:]]
        first = _render_first_item(replace(cut, items=least), finish)
        shortened = truncate_texts(first, limit)
    if shortened is None:
        raise BudgetTooSmall(count_tokens(_truncate_to_minimum(first)))
    return shortened


def _render_first_item(page: Page, finish: AttachContinuation) -> JsonObject:
    """Return the first item, with what goes on: the next ones, or a budget for all of this one."""
    some = min(1, page.size)
    if page.has_more or page.size > some:
        return _render_part(page, some, finish)
    answer = page.render(some)
    if page.counts_only:
        return answer
    return finish(answer, {"max_tokens": max(count_tokens(answer), MIN_BUDGET)}, None)


def _truncate_around_text(cut: Truncatable, limit: int, finish: AttachContinuation) -> JsonObject:
    """Return a beginning of the text where what stands around it is cut, for it does not fit.

    Where that is all of the text, what goes on is the call with a budget for all of the answer.
    """
    first = _render_part(cut, min(1, cut.size), finish)
    least = count_tokens(_truncate_to_minimum(first))
    caps = _find_caps(first, max(limit // 2, (least + limit) // 2))
    if caps is None:
        raise BudgetTooSmall(least)
    cap, most = caps

    def finish_truncated(
        part: JsonObject, changed: dict[str, object], cursor: str | None
    ) -> JsonObject:
        return _apply_caps(without_addresses(finish(part, changed, cursor)), cap, most)

    fitting = _max_fitting_units(cut, limit, finish_truncated) if _has_verbatim_text(first) else 0
    end = _choose_end(cut, fitting, limit, finish_truncated) if fitting else min(1, cut.size)
    if end < cut.size or cut.has_more:
        return _render_part(cut, end, finish_truncated)
    answer = cut.render(end)
    if fits_budget(bare := without_addresses(answer), limit):
        return bare  # which is all but what other fields say too
    return finish_truncated(answer, {"max_tokens": max(count_tokens(answer), MIN_BUDGET)}, None)


def _has_verbatim_text(value: Any) -> bool:  # noqa: ANN401  # any JSON value
    """Whether an answer holds its part of a text in pieces that are cut nowhere else."""
    if isinstance(value, dict):
        return any(map(_has_verbatim_text, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(_has_verbatim_text, cast("list[Any]", value)))
    return isinstance(value, VerbatimText)
