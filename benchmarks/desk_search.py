"""How well one order of notes, cells, tasks and files puts the right text first.

Docstrings and titles of installed packages and manuals ask for the text they were taken from
(`search_pairs`). Each text is kept once: as what people would keep it as (natural), or as a kind
chosen by its hash (scattered), so that nothing but the words tells the kinds apart.
"""

from __future__ import annotations

import asyncio
import hashlib
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, zip_longest
from math import log, log2, sqrt
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from benchmarks import stores
from benchmarks.measure import Table
from benchmarks.search_pairs import testing_sets, tuning_sets
from rolltop.core.context import AppContext, CallContext
from rolltop.core.dispatch import ToolRegistry
from rolltop.core.fulltext import relevance
from rolltop.core.fulltext.analyzer import tokenize_lines
from rolltop.core.fulltext.bm25 import query_terms
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.desk import ranking, search
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store.notebooks import Notebook
from rolltop.toolsets.scratch.models.records import PadLimits
from rolltop.toolsets.scratch.service import cell_input, pads
from rolltop.toolsets.tasks.models import TaskInput
from rolltop.toolsets.tasks.service import TaskService
from rolltop.workspace import Roots

if TYPE_CHECKING:
    from benchmarks.search_pairs import Pair, PairSet
    from rolltop.core.db import Tx
    from rolltop.core.fulltext.documents import FoundText
    from rolltop.core.principal import Principal
    from rolltop.toolsets.scratch.models.inputs import CellInput

KINDS: Final = ("note", "cell", "task", "file")
DOCUMENTS: Final = 600
"""Texts of a set."""
QUESTIONS: Final = 150
_DEEPEST: Final = 10
_AT_ONCE: Final = 40
_MAX_TASK: Final = 2000
_NATURAL: Final = {
    "summary → code": ("file", "cell"),
    "summary → docstring": ("task", "cell"),
    "title → section": ("note", "file"),
}
_LIMITS: Final = PadLimits(pads=0, cells=0, cell_bytes=0, policy="discard", namespace="default")
_HOW: Final = (
    "nDCG@10 ± its standard error over the questions, one right text a question. Own: the search "
    "of the right text's kind, among that kind. The others: one order of all kinds' texts."
)

Lists = Mapping[str, Sequence["FoundText"]]
Way = Callable[[str, Lists], Sequence["FoundText"]]


@dataclass(frozen=True)
class Placed:
    """A text, the kind it is kept as, and what asks for it."""

    number: int
    kind: str
    pair: Pair


def tables() -> list[Table]:
    """Return a table for each half and way of keeping the texts."""
    return [
        _table(f"one search over all kinds: {half}, {how}", sets, natural=how == "natural")
        for half, sets in (("tuning", tuning_sets()), ("test", testing_sets()))
        for how in ("natural", "scattered")
    ]


def _place(sets: Sequence[PairSet], *, natural: bool) -> tuple[list[Placed], list[Placed]]:
    """Return all texts as they are kept, and those that are asked for."""
    placed: list[Placed] = []
    asked: list[Placed] = []
    for one in sets:
        kinds = _NATURAL[one.name.partition(": ")[2]] if natural else KINDS
        for at, pair in enumerate(one.pairs[:DOCUMENTS]):
            digest = hashlib.sha256(pair.document.encode("utf-8", "replace")).digest()
            made = Placed(len(placed), kinds[digest[0] % len(kinds)], pair)
            placed.append(made)
            if at < QUESTIONS:
                asked.append(made)
    return placed, asked


def _table(title: str, sets: Sequence[PairSet], *, natural: bool) -> Table:
    placed, asked = _place(sets, natural=natural)
    ways: dict[str, Way] = {
        "round-robin": _take_turns,
        "share of the kind's best score": _by_share,
        "one score, sorted": _sorted_by_score,
        "one score, each kind's order kept": _as_the_desk_does,
        "the same with the IDF of all texts": partial(_by_all_texts, _idf_of(placed)),
    }
    gains: dict[str, list[float]] = {name: [] for name in ways}
    own: list[float] = []
    of_kind: dict[str, dict[str, list[float]]] = {name: {} for name in ways}
    times: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        app, scope, numbers = _fill(Path(folder), placed)
        for one in asked:
            start = perf_counter()
            lists = _search(app, scope, one.pair.query)
            ranking.rank_texts(one.pair.query, lists.values())
            times.append(1000 * (perf_counter() - start))
            found = [each for some in lists.values() for each in some if _is(each.kind, one.kind)]
            own.append(_gain(found, one.number, numbers))
            of_kind.setdefault("own", {}).setdefault(one.kind, []).append(own[-1])
            for name, way in ways.items():
                order = way(one.pair.query, lists)
                gains[name].append(_gain(order, one.number, numbers))
                mine = [found for found in order if _is(found.kind, one.kind)]
                of_kind[name].setdefault(one.kind, []).append(_gain(mine, one.number, numbers))
        app.close()
    rows = [("own", _cell(own), *(_cell(of_kind["own"].get(kind, [])) for kind in KINDS))]
    rows += [
        (name, _cell(some), *(_cell(of_kind[name].get(kind, [])) for kind in KINDS))
        for name, some in gains.items()
    ]
    cuts = statistics.quantiles(times, n=20)
    how = f"{_HOW} {len(placed)} texts; a search took {statistics.median(times):.0f} ms, "
    how += f"95 % less than {cuts[-1]:.0f}."
    header = ("way", "all kinds", *(f"among {kind}s" for kind in KINDS))
    return Table(title, how, header, rows)


def _is(kind: str, wanted: str) -> bool:
    return kind == wanted or (kind == "pad" and wanted == "cell")


def _search(app: AppContext, scope: Principal, query: str) -> Lists:
    call = CallContext(app, scope, "desk_search", 0)
    request = search.SearchRequest(query, None, None, None, None, None)
    return asyncio.run(search.find_texts(call, request.parse(app), frozenset())).by_toolset


def _take_turns(_query: str, lists: Lists) -> list[FoundText]:
    rows = zip_longest(*lists.values())
    return [found for row in rows for found in row if found is not None]


def _by_share(query: str, lists: Lists) -> list[FoundText]:
    scored: list[tuple[float, FoundText]] = []
    for some in lists.values():
        scores = [one.score for one in ranking.score_texts(query, some)]
        best = max(scores, default=0.0) or 1.0
        scored += zip(_falling(score / best for score in scores), some, strict=True)
    return _sort(scored)


def _sorted_by_score(query: str, lists: Lists) -> list[FoundText]:
    found = [one for some in lists.values() for one in some]
    scores = [one.score for one in ranking.score_texts(query, found)]
    return _sort(list(zip(scores, found, strict=True)))


def _as_the_desk_does(query: str, lists: Lists) -> list[FoundText]:
    return [one.found for one in ranking.rank_texts(query, lists.values())]


def _by_all_texts(idf: Callable[[str], float], query: str, lists: Lists) -> list[FoundText]:
    found = [one for some in lists.values() for one in some]
    scores = iter(_score(query, found, idf))
    scored: list[tuple[float, FoundText]] = []
    for some in lists.values():
        scored += zip(_falling(next(scores) for _ in some), some, strict=True)
    return _sort(scored)


def _score(query: str, found: Sequence[FoundText], idf: Callable[[str], float]) -> list[float]:
    terms = relevance.query_forms(query_terms(query))
    texts = {at: [ranking.split_words(one)] for at, one in enumerate(found)}
    ranked = relevance.rank(terms, texts, [idf(term.forms[0]) for term in terms], texts)
    return [ranked[at].score for at in texts]


def _idf_of(placed: Sequence[Placed]) -> Callable[[str], float]:
    counts: dict[str, int] = {}
    for one in placed:
        for word in set(tokenize_lines(one.pair.document).split()):
            counts[word] = counts.get(word, 0) + 1
    total = len(placed)
    return lambda word: log(1 + (total - counts.get(word, 0) + 0.5) / (counts.get(word, 0) + 0.5))


def _falling(scores: Iterable[float]) -> list[float]:
    return list(accumulate(scores, min))


def _sort(scored: list[tuple[float, FoundText]]) -> list[FoundText]:
    return [found for _score, found in sorted(scored, key=lambda pair: -pair[0])]


def _gain(order: Sequence[FoundText], number: int, numbers: dict[str, int]) -> float:
    """Return nDCG@10 of the texts found, each counted once."""
    found = list(dict.fromkeys(numbers.get(_name(one), -1) for one in order))[:_DEEPEST]
    return 1 / log2(found.index(number) + 2) if number in found else 0.0


def _name(found: FoundText) -> str:
    return found.ref or found.uri.partition("#")[0]


def _cell(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{statistics.fmean(values):.3f} ± {statistics.pstdev(values) / sqrt(len(values)):.3f}"


def _fill(folder: Path, placed: Sequence[Placed]) -> tuple[AppContext, Principal, dict[str, int]]:
    """Keep all texts; return the desk, its user, and the numbers of the texts by their names."""
    database, scope = stores.opened(folder)
    tree = folder / "tree"
    numbers: dict[str, int] = {}
    of_kind = {kind: [one for one in placed if one.kind == kind] for kind in KINDS}
    for one in of_kind["file"]:
        ending = "py" if one.pair.document.lstrip().startswith(("def ", "async ", "@")) else "md"
        path = tree / f"{one.number % 20}" / f"{one.number}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(one.pair.document, encoding="utf-8", errors="replace")
        numbers[f"rolltop://file/tree/{path.relative_to(tree)}"] = one.number
    database.write_sync(scope, _add_notes, of_kind["note"], numbers)
    for start in range(0, len(placed), _AT_ONCE):
        database.write_sync(scope, _add_cells, of_kind["cell"][start : start + _AT_ONCE], numbers)
        database.write_sync(scope, _add_tasks, of_kind["task"][start : start + _AT_ONCE], numbers)
    declared = [*CORE_SETTINGS, *(s for toolset in TOOLSETS for s in toolset.settings)]
    settings = Settings.defaults(declared).replace({"data_dir": folder / "data"})
    roots = Roots.open({"tree": tree}, base=folder)
    return AppContext(settings, database, roots, ToolRegistry(TOOLSETS)), scope, numbers


def _add_notes(tx: Tx, placed: Sequence[Placed], numbers: dict[str, int]) -> None:
    new = [NewNote(Content(one.pair.document, modified=1e9), f"n{one.number}") for one in placed]
    Notebook(tx).create(new, source="import")
    numbers |= {f"n{one.number}": one.number for one in placed}


def _add_cells(tx: Tx, placed: Sequence[Placed], numbers: dict[str, int]) -> None:
    if not placed:
        return
    given = cell_input.parse_pad_fields({"title": f"pad {placed[0].number}"}, None, None, "default")
    texts: list[CellInput] = [{"language": "txt", "content": one.pair.document} for one in placed]
    made = pads.create_pad(tx, None, given, (), cell_input.parse_cells(texts, _LIMITS), _LIMITS, {})
    for one, cell in zip(placed, made.cells, strict=True):
        numbers[cell.cell_id] = one.number


def _add_tasks(tx: Tx, placed: Sequence[Placed], numbers: dict[str, int]) -> None:
    inputs: list[TaskInput] = []
    for one in placed:
        title, _, rest = one.pair.document.strip()[:_MAX_TASK].partition("\n")
        inputs.append(TaskInput(title=title[:200], description=title[200:] + rest))
    for one, task in zip(
        placed, TaskService().add_tasks(tx, inputs) if inputs else (), strict=True
    ):
        numbers[task.id] = one.number
