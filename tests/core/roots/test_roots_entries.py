"""Lists of files that follow one another: what differs, and marks that follow."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.roots import Entry, Marks, differences
from tests.campaign import examples

MOST_BYTES = 50
PATHS = [f"{folder}{name}" for folder in ("", "a/", "a/b/", "c/") for name in ("x", "y", "\udc80")]
_SIZES = st.integers(48, 52)
_FILES = st.dictionaries(st.sampled_from(PATHS), _SIZES)


@st.composite
def _lists(draw: st.DrawFn) -> list[list[Entry]]:
    """Return lists as a catalogue gives them: an object is kept while its file is the same."""
    known: dict[tuple[str, int], Entry] = {}
    lists: list[list[Entry]] = []
    for files in draw(st.lists(_FILES, min_size=2, max_size=5)):
        anew = draw(st.booleans())
        entries: list[Entry] = []
        for path in sorted(files, key=lambda path: path.split("/")):
            key = path, files[path]
            if anew or key not in known:
                known[key] = Entry(path, files[path], 1, files[path], 7, 1)
            entries.append(known[key])
        lists.append(entries)
    return lists


@settings(max_examples=examples(500), deadline=None)
@given(_lists())
def test_a_list_becomes_the_next_by_its_differences(lists: list[list[Entry]]) -> None:
    before = lists[0]
    for now in lists[1:]:
        made = list(before)
        for stood, stand in reversed(differences(before, now)):
            made[stood] = now[stand]
        assert [id(entry) for entry in made] == [id(entry) for entry in now]
        before = now


def test_few_scattered_changes_are_told_one_by_one() -> None:
    before = [Entry(f"{number:04}", 1, 1, 1, number, 1) for number in range(1000)]
    now = list(before)
    for at in (10, 500, 990):
        now[at] = before[at]._replace(size=2)
    assert [stand for _, stand in differences(before, now)] == [
        slice(at, at + 1) for at in (10, 500, 990)
    ]
    assert differences(before, before[:400] + before[401:]) == [(slice(400, 401), slice(400, 400))]
    assert differences(before[:400] + before[401:], before) == [(slice(400, 400), slice(400, 401))]


@settings(max_examples=examples(500), deadline=None)
@given(_lists())
def test_marks_that_follow_a_list_are_those_of_the_list(lists: list[list[Entry]]) -> None:
    marks = Marks(lists[0], MOST_BYTES)
    for entries in lists:
        marks = marks.changed_to(entries)
        anew = Marks(entries, MOST_BYTES)
        for path in ["", "b", *PATHS]:
            assert marks.since(path) == anew.since(path)
        searched = [e for e in entries if e.size <= MOST_BYTES and "\udc80" not in e.relative]
        for entry in (e for some in lists for e in some):
            assert marks.hold(entry) == anew.hold(entry) == (entry in searched)
