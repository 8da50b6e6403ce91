"""How often a reading plan of 3,000 tokens holds the section that answers a question.

`DOCUMENTS` names a folder with the repositories that plan_questions.tsv lists, each at
owner/name. The questions were written from the text of sections drawn at random, in other words
than the document's where that came naturally, without asking the product.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final, NamedTuple

from benchmarks.measure import Table, Times
from benchmarks.wire import ROLLTOP, Wire

if TYPE_CHECKING:
    from collections.abc import Sequence

QUESTIONS: Final = Path(__file__).with_name("plan_questions.tsv")
BUDGET: Final = 3000
_HOW: Final = (
    f"read_plan at {BUDGET:,} tokens, over the one document that has the answer or over all "
    "documents of the half; share of questions whose section is in the plan, whole or in part, "
    "and is its first."
)


class Question(NamedTuple):
    """A question, with the document and the first line of the section that answers it."""

    half: str
    document: str
    line: int
    text: str


def tables() -> list[Table]:
    """Return the table of plans, or none without `DOCUMENTS`."""
    checkouts = os.environ.get("DOCUMENTS")
    if checkouts is None:
        return []
    lines = QUESTIONS.read_text(encoding="utf-8").splitlines()
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    questions = [Question(half, name, int(line), text) for half, name, line, text in cells]
    rows: list[tuple[str, ...]] = []
    for half in ("tuning", "test"):
        rows += _rows(half, [one for one in questions if one.half == half], Path(checkouts))
    header = ("half", "over", "questions", "in the plan", "first", "p50", "most")
    return [Table("reader: plans that answer questions", _HOW, header, rows)]


def _rows(half: str, questions: Sequence[Question], checkouts: Path) -> list[tuple[str, ...]]:
    names = {question.document for question in questions}
    rows: list[tuple[str, ...]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            copy = Path(folder, "documents", name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(checkouts / name, copy)
        with Wire(ROLLTOP, Path(folder, "documents"), HOME=folder) as wire:
            wire.initialize()
            for over in ("one document", f"{len(names)} documents"):
                places: list[int] = []
                seconds: list[float] = []
                for question in questions:
                    paths = [question.document if over == "one document" else "."]
                    start = perf_counter()
                    places.append(_place(wire, question, paths))
                    seconds.append(perf_counter() - start)
                times = Times(tuple(seconds))
                found = sum(place > 0 for place in places) / len(places)
                first = sum(place == 1 for place in places) / len(places)
                shares = (f"{found:.3f}", f"{first:.3f}")
                speed = tuple(f"{times.at(at) * 1000:.0f} ms" for at in (0.5, 1.0))
                rows.append((half, over, str(len(questions)), *shares, *speed))
    return rows


def _place(wire: Wire, question: Question, paths: Sequence[str]) -> int:
    """Return the place of the section that answers in the plan, from 1; 0 if it is not there."""
    arguments = {"file_paths": paths, "query": question.text, "budget_tokens": BUDGET}
    result = wire.request("tools/call", {"name": "read_plan", "arguments": arguments})
    sections = result["structuredContent"]["sections"]
    for place, section in enumerate(sections, start=1):
        here = section["path"].endswith(question.document)
        if here and section["start_line"] <= question.line <= section["end_line"]:
            return place
    return 0
