"""Texts as forms bring them back: what nobody changed stays as it is stored."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Final

from rolltop.core.text.diff import diff_lines

_LINE_BREAK: Final = re.compile(r"\r\n|\r|\n")
_NEW_TEXTS: Final = ("title", "comment")
"""Fields that begin empty, without a hash."""


def restore_line_breaks(text: str, original: str) -> str:
    """Return what a form sent, whose lines end in LF, with the line ends of `original`.

    Lines that are new end as the first line of the original does.
    """
    breaks = _LINE_BREAK.findall(original)
    if not breaks or set(breaks) == {"\n"}:
        return text
    before, after = _LINE_BREAK.split(original), text.split("\n")
    ends = [breaks[0]] * len(after)
    old = new = 0
    for hunk in (*diff_lines(before, after), None):
        kept = breaks[old : hunk.start if hunk else None]
        ends[new : new + len(kept)] = kept
        if hunk is not None:
            old, new = hunk.end, hunk.new_end
    return "".join(
        line + end for line, end in zip(after, [*ends[: len(after) - 1], ""], strict=True)
    )


def form_values(now: Mapping[str, str], sent: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return a form's values: its fields as they are `now`, but those changed in `sent` as sent.

    With a hash of each field, which tells later whether it was changed: a form has no room for a
    second copy of a long text.
    """
    hashes = {f"base_{name}": _hash(text) for name, text in now.items()}
    if sent is None:
        return {**now, **hashes}
    given = {name: sent.get(name, "") for name in now}
    changed = {
        name: text for name, text in given.items() if _hash(text) != sent.get(f"base_{name}")
    }
    return {**now, **hashes, **changed}


def typed_texts(sent: Mapping[str, str]) -> dict[str, str]:
    """Return those fields of a form that a person filled in, other than the form showed them."""
    fields = [name for name in sent if name in _NEW_TEXTS or f"base_{name}" in sent]
    return {
        name: sent[name]
        for name in fields
        if sent[name].strip() and _hash(sent[name]) != sent.get(f"base_{name}")
    }


def _hash(text: str) -> str:
    """Hash a text, however its lines end."""
    return hashlib.sha256(_LINE_BREAK.sub("\n", text).encode()).hexdigest()


def one_line(text: str) -> str:
    """Return a text as an input, which has one line, shows it."""
    return " ".join(text.splitlines())


def read_list(text: str, original: Sequence[str] = ()) -> list[str]:
    """Return the lines of a form's field; those that were there already are not trimmed."""
    if text == _LINE_BREAK.sub("\n", "\n".join(original)):
        return list(original)
    return [
        line if line in original else line.strip()
        for line in text.split("\n")
        if line.strip() or line in original
    ]
