"""Which files hold a text: what ranked search asks where its index knows little."""

from __future__ import annotations

import math
import os
from pathlib import Path

from rolltop.core.roots import Roots
from rolltop.toolsets.retrieval.exact.holding import holding
from rolltop.toolsets.retrieval.models import Query

NEEDLE = Query("needle", case="ignore")


def test_files_that_hold_a_text_in_any_case_are_found(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    for name, text in {"a": "a Needle\n", "b/c": "x\nneedles", "-d": "NEEDLE", "e": "hay"}.items():
        (top / name).parent.mkdir(exist_ok=True)
        (top / name).write_text(text)
    roots = Roots.open({"code": top}, base=top)
    root = roots.named[0]
    entries = list(roots.walk(root))
    found = holding(root, NEEDLE, entries, math.inf)
    assert sorted(entry.relative for entry in found) == ["-d", "a", "b/c"]
    assert holding(root, NEEDLE, [], math.inf) == set()
    assert holding(root, Query("n(e", case="ignore"), entries, math.inf) == set()


def test_past_the_deadline_nothing_is_looked_at(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    (top / "a").write_text("needle")
    roots = Roots.open({"code": top}, base=top)
    root = roots.named[0]
    entries = list(roots.walk(root))
    assert holding(root, NEEDLE, entries, -math.inf) == set()
