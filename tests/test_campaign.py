"""The size of random campaigns, which cases are made, and what test time is counted for."""

from __future__ import annotations

import pytest

from tests.campaign import VARIABLE, examples, is_full, some_of
from tests.case_selection import choose_cases
from tests.databases import KINDS
from tests.time_budgets import part_of


@pytest.mark.parametrize(
    ("given", "expected", "full"),
    [("small", 5, False), ("full", 500, True), ("0.3", 15, False), ("0.001", 1, False)],
)
def test_a_campaign_grows_with_the_setting(
    monkeypatch: pytest.MonkeyPatch, given: str, expected: int, *, full: bool
) -> None:
    monkeypatch.setenv(VARIABLE, given)
    assert (examples(50), is_full()) == (expected, full)
    assert some_of([1, 2, 3]) == ([1, 2, 3] if full else [1, 3])


@pytest.mark.parametrize("given", ["", "large", "-1", "0", "nan", "inf"])
def test_a_wrong_setting_is_refused_by_name(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv(VARIABLE, given)
    with pytest.raises(ValueError, match=VARIABLE):
        examples(50)


def test_a_small_run_makes_every_case_on_one_database() -> None:
    cases = {f"t.py::test_{name}[{{}}-{number}]" for name in "abcdef" for number in range(5)}
    chosen = choose_cases(case.format(kind) for case in sorted(cases) for kind in KINDS)
    for case in cases:
        assert len(chosen.intersection(map(case.format, KINDS))) == 1
    for kind in KINDS:
        assert sum(kind in case for case in chosen) > len(cases) / 4
        assert choose_cases([f"t.py::test[{kind}]"]) == {f"t.py::test[{kind}]"}


def test_a_small_run_makes_half_of_a_large_table_with_every_value() -> None:
    rows = [
        f"t.py::test_large[{one}-{two}-{three}]" for one in "abc" for two in "xy" for three in "pq"
    ]
    chosen = choose_cases(rows)
    assert len(chosen) == len(rows) / 2
    assert all(
        any(value in case for case in chosen) for value in ("[a", "[b", "[c", "-x", "-y", "p]")
    )
    few = {f"t.py::test_few[{number}]" for number in range(7)} | {"t.py::test_alone"}
    assert choose_cases(few) == few


@pytest.mark.parametrize(
    ("node_id", "part"),
    [
        ("tests/toolsets/notes/test_store.py::test_a", "notes"),
        ("tests/toolsets/notes/formats/test_json.py::test_a", "notes"),
        ("tests/toolsets/test_all.py::test_a", "foundation"),
        ("tests/toolsets/tasks/test_store.py::test_a", "foundation"),
        ("tests/documents/extractors/test_pdf.py::test_a", "foundation"),
        ("tests/core/test_pagination.py::TestFit::test_a", "foundation"),
        ("tests/core/fulltext/test_index.py::test_a", "scratch"),
        ("tests/cli/test_notes.py::test_a", "notes"),
        ("tests/cli/test_demo.py::test_a", "foundation"),
    ],
)
def test_a_tests_time_counts_for_its_folder(node_id: str, part: str) -> None:
    assert part_of(node_id) == part
