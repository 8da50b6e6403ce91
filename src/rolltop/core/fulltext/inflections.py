"""English words whose forms have several stems: "go" finds "went", "child" finds "children"."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from rolltop.core.fulltext.stemmer import stem

_IRREGULAR: Final = """
become became|begin began begun|bite bit bitten|blow blew blown|break broke broken|bring brought
build built|buy bought|catch caught|choose chose chosen|come came|deal dealt|dig dug
draw drew drawn|dream dreamt|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen
feed fed|feel felt|fight fought|find found|fly flew flown|forget forgot forgotten
forgive forgave forgiven|freeze froze frozen|get got gotten|give gave given|go went gone
grow grew grown|hang hung|hear heard|hide hid hidden|hold held|keep kept|know knew known|lay laid
lead led|leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met
pay paid|ride rode ridden|ring rang rung|rise rose risen|run ran|say said|see saw seen|seek sought
sell sold|send sent|shake shook shaken|shine shone|shoot shot|show showed shown
shrink shrank shrunk|sing sang sung|sink sank sunk|sit sat|sleep slept|slide slid
speak spoke spoken|spend spent|stand stood|steal stole stolen|stick stuck|strike struck
swear swore sworn|sweep swept|swim swam swum|swing swung|take took taken|teach taught
tear tore torn|tell told|think thought|throw threw thrown|understand understood|wake woke woken
wear wore worn|win won|write wrote written|child children|man men|woman women|foot feet
tooth teeth|mouse mice|goose geese|person people|wife wives|life lives|knife knives
shelf shelves|half halves|good better best|bad worse worst
"""


def inflections(word: str) -> tuple[str, ...]:
    """Return the stems of a word's forms, its own among them; `word` is a stem too."""
    return _stems().get(word, (word,))


@lru_cache(1)
def _stems() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group in _IRREGULAR.replace("\n", "|").split("|"):
        stems = tuple(dict.fromkeys(map(stem, group.split())))
        found |= {one: tuple(dict.fromkeys((*found.get(one, ()), *stems))) for one in stems}
    return found
