"""Which files hold a text: what ranked search asks where its index knows little."""

from __future__ import annotations

import math
import os
from pathlib import Path

from rolltop.toolsets.retrieval.grep.ripgrep import find_matching_files
from rolltop.toolsets.retrieval.models import Query
from rolltop.workspace import Roots

NEEDLE = Query("needle", case="ignore")


def test_files_that_hold_a_text_in_any_case_are_found(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    for name, text in {"a": "a Needle\n", "b/c": "x\nneedles", "-d": "NEEDLE", "e": "hay"}.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    roots = Roots.open({"code": top}, base=top)
    root = roots.named[0]
    entries = list(roots.walk(root))
    found = find_matching_files(root, NEEDLE, entries, math.inf)
    assert sorted(entry.relative for entry in found) == ["-d", "a", "b/c"]
    assert find_matching_files(root, NEEDLE, [], math.inf) == set()
    assert find_matching_files(root, Query("n(e", case="ignore"), entries, math.inf) == set()


def test_past_the_deadline_any_file_may_hold_it(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "a").write_text("hay")
    roots = Roots.open({"code": top}, base=top)
    root = roots.named[0]
    entries = list(roots.walk(root))
    assert find_matching_files(root, NEEDLE, entries, -math.inf) == set(entries)


def test_a_file_that_cannot_be_read_may_hold_it(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    for name in ("a", "gone"):
        (top / name).write_text("hay")
    roots = Roots.open({"code": top}, base=top)
    entries = list(roots.walk(roots.named[0]))
    (top / "gone").unlink()
    found = find_matching_files(roots.named[0], NEEDLE, entries, math.inf)
    assert [entry.relative for entry in found] == ["gone"]


def test_a_fifo_in_the_place_of_a_file_holds_up_no_other(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    for name in "abcd":
        (top / name).write_text("needle" if name == "c" else "hay")
    roots = Roots.open({"code": top}, base=top)
    entries = list(roots.walk(roots.named[0]))
    (top / "a").unlink()
    os.mkfifo(top / "a")
    found = find_matching_files(roots.named[0], NEEDLE, entries, math.inf)
    assert sorted(entry.relative for entry in found) == ["a", "c"]
