"""Beginnings of words and names find what begins so, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.toolsets.notes.caller import Caller

HASH: Final = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b"
NOTES: Final = (
    "Deployment\nof the cluster",
    "Configuration\nof another cluster",
    "Installation",
    "Authentication",
    "Running\nparsing_http_headers",
    "Bus fares\nfor travel",
    "Travel budget\nbut build a button",
    "News",
    "Newton",
    f"Fixed\nin {HASH}",
)
FOUND: Final = {
    "deploym": ["Deployment"],
    "cluster deploym": ["Configuration", "Deployment"],
    "configurat": ["Configuration"],
    "installatio": ["Installation"],
    "authentica": ["Authentication"],
    "runni": ["Running"],
    "bus*": ["Bus fares"],
    "news*": ["News"],
    "travel -bus*": ["Travel budget"],
    "cluster -deploym*": ["Configuration"],
    "parsing_ht": ["Running"],
    "parsingHt*": ["Running"],
    "9f86d08": ["Fixed"],
    "9f86d08*": ["Fixed"],
    "fixed 9F86D08": ["Fixed"],
    f"fixed -{HASH[:7]}*": [],
    HASH[:20]: ["Fixed"],
    HASH: ["Fixed"],
}


def test_a_beginning_finds_the_words_that_begin_so(mine: Caller) -> None:
    """The index holds stems, which may be shorter than the beginning of a word."""
    for text in NOTES:
        mine.note(text)
    assert {q: mine.titles(q) for q in FOUND} == FOUND
    for q in ("deploym*", "cluster deploym"):
        answer = mine.ok("note_list", q=q)
        assert (answer["items"][0]["title_prev"], answer["matched"]) == ("Deployment", "prefix")
