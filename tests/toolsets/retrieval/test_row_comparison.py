"""Files compared with what an index holds of them, against a plain comparison of all."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.retrieval.store import GONE, Row, RowComparison
from rolltop.workspace import FileStat
from tests.campaign import examples

PATHS = ("a", "b/c", "d", "e")
_STATES = st.integers(1, 3)
_FILES = st.dictionaries(st.sampled_from(PATHS), _STATES)
_ROWS = st.lists(st.tuples(st.sampled_from(PATHS), st.one_of(st.none(), _STATES)), max_size=4)


class Step(NamedTuple):
    """What happens: files, rows of paths with states (None: gone), both or neither."""

    files: dict[str, int] | None
    rows: list[tuple[str, int | None]]
    renumbered: bool
    another_index: bool


_STEPS = st.builds(Step, st.none() | _FILES, _ROWS, st.booleans(), st.booleans())


def entry(path: str, state: int) -> FileStat:
    return FileStat(path, state, 10**18 + state, 10**18, 7, 1)


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(_STEPS, max_size=8))
def test_files_are_fresh_stale_or_gone(steps: list[Step]) -> None:
    comparison, files, entries = RowComparison(), dict[str, int](), list[FileStat]()
    rows, numbers = dict[str, int | None](), {path: n for n, path in enumerate(PATHS, 1)}
    for step in steps:
        if step.files is not None:
            files = step.files
            entries = [entry(path, state) for path, state in sorted(files.items())]
        comparison.take_files(entries)
        if step.another_index:
            comparison.forget_rows()
            rows.clear()
        for path, state in step.rows:
            if step.renumbered:
                numbers[path] = max(numbers.values()) + 1
            rows[path] = state
            stamp = GONE if state is None else entry(path, state)[1:5]
            comparison.take_row(path, Row(numbers[path], stamp))
        fresh = {path for path, state in files.items() if rows.get(path) == state}
        assert comparison.fresh == {numbers[path]: entry(path, files[path]) for path in fresh}
        assert comparison.stale == {
            path: entry(path, state) for path, state in files.items() if path not in fresh
        }
        there = [path for path, state in rows.items() if state is not None]
        assert comparison.find_gone() == sorted(path for path in there if path not in files)
        assert comparison.size == sum(files.values())
        for path, state in files.items():
            assert comparison.number(entry(path, state)) == (
                numbers[path] if path in fresh else None
            )
            assert comparison.number(entry(path, state + 1)) is None
