"""What the product promises, each with the tests that hold it to that."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NotRequired, TypedDict

from benchmarks.__main__ import PARTS
from tests.contracts.sources import ROOT, read


class Promise(TypedDict):
    """One promise: `tests` that would fail if it were broken, or why it is still `open`.

    Times are not asserted: `measured` names the table of a benchmark, as `file::title`.
    """

    id: str
    says: str
    tests: NotRequired[list[str]]
    measured: NotRequired[list[str]]
    open: NotRequired[str]


TABLE = tomllib.loads(Path(__file__).with_name("promises.toml").read_text(encoding="utf-8"))
PROMISES: list[Promise] = TABLE["promise"]


def defined(node_id: str) -> bool:
    """Whether `path::test` or `path::Class::test` names a test, or a state machine's test case."""
    path, *names = node_id.split("::")
    if not names or not (ROOT / path).is_file():
        return False
    text, (*classes, name) = read_text(path), names
    wanted = [rf"class {one}\b" for one in classes]
    is_test = name.startswith("test_")
    wanted.append(rf" *(?:async )?def {name}\(" if is_test else rf"{name}\b.* = \w+\.TestCase$")
    return all(re.search(f"^{pattern}", text, re.MULTILINE) for pattern in wanted)


@cache
def read_text(path: str) -> str:
    """A file at a path from the repository's top."""
    return (ROOT / path).read_text(encoding="utf-8")


def test_every_promise_is_named_once() -> None:
    assert [name for name, times in Counter(p["id"] for p in PROMISES).items() if times > 1] == []
    assert [p["id"] for p in PROMISES if not p["says"].strip()] == []


def test_every_promise_has_tests_or_says_why_not() -> None:
    held = {p["id"]: bool(p.get("tests") or p.get("measured")) for p in PROMISES}
    assert [p["id"] for p in PROMISES if held[p["id"]] == bool(p.get("open"))] == []


def test_every_named_table_is_made_by_a_benchmark() -> None:
    named = [table.partition("::") for p in PROMISES for table in p.get("measured", [])]
    assert named
    for path, _, title in named:
        assert Path(path).stem in PARTS
        titles = [
            node.value for node in ast.walk(read(path).tree) if isinstance(node, ast.Constant)
        ]
        assert title in titles, (path, title)


def test_every_named_test_exists() -> None:
    missing = [
        f"{p['id']}: {node_id}"
        for p in PROMISES
        for node_id in p.get("tests", [])
        if not defined(node_id)
    ]
    assert missing == []


def test_the_page_on_security_names_tests_that_exist() -> None:
    named = re.findall(r"`(tests/[^`]+)`", read_text("docs/security.md"))
    assert len(named) > 30
    assert [node_id for node_id in named if not defined(node_id)] == []
    rows = [row for row in read_text("docs/security.md").splitlines() if row.startswith("| ")]
    titles = ("| promise |", "| --- |")
    assert [row for row in rows if "::" not in row and not row.startswith(titles)] == []


def test_a_test_that_is_not_there_is_noticed() -> None:
    here = "tests/contracts/test_promises.py"
    assert defined(f"{here}::test_every_named_test_exists")
    for wrong in (f"{here}::test_gone", f"{here}::defined", "tests/gone.py::test_a", here):
        assert not defined(wrong)
