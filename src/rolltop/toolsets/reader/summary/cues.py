"""What kind of writing a document is, and the phrases that mark its telling sentences.

The phrases add a small bonus to a sentence's score; none of them alone decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal

from rolltop.toolsets.reader.summary.prose import SOURCE_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

Genre = Literal["paper", "manual", "changelog", "log", "source", "transcript", "prose"]

CUE_BONUS: Final = 1.15
OPENING_BONUS: Final = 1.08
SECTION_BONUS: Final = 1.1

_ALWAYS: Final = r"in (?:summary|conclusion|short)|most important|key |in general|overall|therefore"
_PHRASES: Final[dict[Genre, str]] = {
    "paper": r"we (?:show|find|found|propose|present|introduce|conclude|demonstrate|observe)|"
    r"results? (?:show|suggest|indicate)|this (?:paper|work|study|article)|significant|"
    r"our (?:results|method|approach|findings)|outperform|limitation|contribut",
    "manual": r"must|should|never|always|by default|required?|deprecat|important|note that|"
    r"recommend|ensure|provides|allows|you can|is used to",
    "changelog": r"breaking|remov|deprecat|security|no longer|renam|vulnerab|incompatib|CVE-|"
    r"added|fixed|now ",
    "log": r"error|fail|fatal|critical|warn|exception|panic|timeout|timed out|denied|refused|"
    r"crash|started|stopp",
    "source": r"returns?|raises?|must|never|invariant|thread|deprecat|provides|implements",
    "transcript": r"decid|agree|action item|next step|will |deadline|question|because|plan",
    "prose": r"important|because|conclud|result|must|decid|significant",
}
_CUES: Final = {
    genre: re.compile(f"(?i)(?<![a-z])(?:{_ALWAYS}|{phrases})")
    for genre, phrases in _PHRASES.items()
}
_TELLING_SECTION: Final = re.compile(
    r"(?i)\b(?:conclu|result|finding|discussion|summary|key |takeaway|recommendation|outcome|"
    r"decision|fazit|ergebnis)"
)
_TIME: Final = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d"
_LOG_LINE: Final = re.compile(rf"[\[(<]?(?:{_TIME}|(?:DEBUG|INFO|WARN|ERROR|FATAL)\b)")
_SPEAKER: Final = re.compile(r"(?:[\[(]?\d?\d:\d\d(?::\d\d)?[\])]? *)?[A-Z][\w.' -]{0,30}: \S")
_VERSION: Final = re.compile(
    r"\W*(?:version |release |v)?\d+\.\d+(?:\.\d+)*\b|\W*(?:unreleased|\d{4}-\d\d-\d\d)",
    re.IGNORECASE,
)
_PAPER_TITLE: Final = re.compile(
    r"(?i)\W*(?:[\divx]+[.)]? +)?(?:abstract|references|bibliography|related work|methods?|"
    r"methodology|conclusions?|introduction|acknowledge?ments)\W*$"
)
_PAPER_TITLES: Final = 3
_SHARE: Final = 0.4
_LOOKED_AT: Final = 400


def genre_of(kind: str, lines: Sequence[str], titles: Sequence[str]) -> Genre:
    """Return the kind of writing, from a document's format, first lines and titles."""
    if kind in SOURCE_KINDS:
        return "source"
    filled = [line.strip() for line in lines[:_LOOKED_AT] if line.strip()]
    enough = max(5, _SHARE * len(filled))
    if sum(bool(_LOG_LINE.match(line)) for line in filled) >= enough:
        return "log"
    if titles and sum(bool(_VERSION.match(t)) for t in titles[:60]) >= _SHARE * len(titles[:60]):
        return "changelog"
    if sum(bool(_PAPER_TITLE.match(title)) for title in titles) >= _PAPER_TITLES:
        return "paper"
    if sum(bool(_SPEAKER.match(line)) for line in filled) >= enough:
        return "transcript"
    return "manual" if len(titles) > 1 else "prose"


def has_cue(genre: Genre, text: str) -> bool:
    """Whether a sentence holds a phrase that marks telling sentences of its kind."""
    return bool(_CUES[genre].search(text))


def is_telling_section(title: str) -> bool:
    """Whether a section of that title tells what came out."""
    return bool(_TELLING_SECTION.search(title))
