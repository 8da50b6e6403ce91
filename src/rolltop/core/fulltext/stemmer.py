"""English endings taken off, after M. F. Porter, "An algorithm for suffix stripping" (1980)."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MIN_LENGTH: Final = 3
"""Words of fewer letters stay as they are."""

_LETTERS: Final = re.compile("[a-z]+")
_CONSONANT: Final = "(?:[^aeiouy]|(?<=[aeiou])y|^y)"
_VOWEL: Final = "(?:[aeiou]|(?<=[^aeiou])y)"
_MEASURE: Final = re.compile(f"{_VOWEL}+{_CONSONANT}+")
_HAS_VOWEL: Final = re.compile(_VOWEL)
_DOUBLE: Final = re.compile(r"([^aeiouylsz])\1$")
_SHORT_END: Final = re.compile(f"{_CONSONANT}{_VOWEL}[^aeiouywx]$")

# Endings with what takes their place, where the rest has a vowel and a consonant.
_STEP_2_ENDINGS: Final = (
    {"tional": "tion", "enci": "ence", "anci": "ance", "entli": "ent", "eli": "e"}
    | {"fulness": "ful", "logi": "log"}
    | dict.fromkeys(("ational", "ation", "ator"), "ate")
    | dict.fromkeys(("izer", "ization"), "ize")
    | dict.fromkeys(("bli", "biliti"), "ble")
    | dict.fromkeys(("alli", "alism", "aliti"), "al")
    | dict.fromkeys(("ousli", "ousness"), "ous")
    | dict.fromkeys(("iveness", "iviti"), "ive")
)
_STEP_3_ENDINGS: Final = (
    {"alize": "al"}
    | dict.fromkeys(("icate", "iciti", "ical"), "ic")
    | dict.fromkeys(("ative", "ful", "ness"), "")
)
_STEP_4_ENDINGS: Final[dict[str, str]] = dict.fromkeys(
    (
        *("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"),
        *("sion", "tion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"),
    ),
    "",
)

_ENDINGS: Final = (
    *("", "s", "ed", "ing"),
    *(re.sub("i$", "y", one) for one in (*_STEP_2_ENDINGS, *_STEP_3_ENDINGS, *_STEP_4_ENDINGS)),
)
"""As they are spelled: in the later steps `y` is `i`."""


@lru_cache(1 << 16)
def stem(word: str) -> str:
    """Return the word's stem: the same for most of its forms. Not a word of English itself.

    Takes words in lower case; one with anything but a to z comes back as it is.
    """
    if len(word) < MIN_LENGTH or not _LETTERS.fullmatch(word):
        return word
    word = _strip_plural(word)
    word = _strip_past(word)
    if word.endswith("y") and _HAS_VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replace_ending(word, _STEP_2_ENDINGS, 0)
    word = _replace_ending(word, _STEP_3_ENDINGS, 0)
    word = _replace_ending(word, _STEP_4_ENDINGS, 1)
    return _strip_final_letter(word)


@lru_cache(1 << 10)
def completed_stems(beginning: str) -> tuple[str, ...]:
    """Return the stems of words with this beginning that do not have it themselves.

    So that whoever looks for what begins with it in an index of stems looks for these too: for
    `deploym` it is `deploy`, the stem of "deployment", and for `bus` it is `bu`.
    """
    found = {
        stem(beginning + ending[at:])
        for ending in _ENDINGS
        for at in range(len(ending) + 1)
        if beginning.endswith(ending[:at])
    }
    return tuple(sorted(one for one in found if not one.startswith(beginning)))


def _strip_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word


def _strip_past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _HAS_VOWEL.search(rest):
            break
    else:
        return word
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE.search(rest):
        return rest[:-1]
    if _measure(rest) == 1 and _SHORT_END.search(rest):
        return rest + "e"
    return rest


def _replace_ending(word: str, endings: dict[str, str], least: int) -> str:
    """Return the word with its longest such ending replaced, where the rest measures enough."""
    for length in range(min(7, len(word) - 1), 1, -1):
        ending = word[-length:]
        if ending in endings:
            rest = word[:-length]
            if ending in {"sion", "tion"}:  # only "ion" goes
                rest = word[:-3]
            return rest + endings[ending] if _measure(rest) > least else word
    return word


def _strip_final_letter(word: str) -> str:
    """Return the word without a last e, or the second of two l, that says nothing."""
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _SHORT_END.search(rest)):
            word = rest
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word


def _measure(rest: str) -> int:
    """Return how many times a run of vowels is followed by a run of consonants."""
    return len(_MEASURE.findall(rest))
