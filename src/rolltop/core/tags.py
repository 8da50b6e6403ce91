"""Tags compared as people read them: case and composition don't count."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable


def fold_tag(tag: str) -> str:
    """Normalize a tag for comparison."""
    return unicodedata.normalize("NFC", tag).casefold()


def has_any_tag(tags: Iterable[str], wanted: Collection[str]) -> bool:
    """Whether one of the tags is among those that are wanted."""
    return not set(map(fold_tag, wanted)).isdisjoint(map(fold_tag, tags))


def has_all_tags(tags: Iterable[str], wanted: Collection[str]) -> bool:
    """Whether all tags that are wanted are among the tags."""
    return set(map(fold_tag, wanted)) <= set(map(fold_tag, tags))
