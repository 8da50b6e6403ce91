"""How well ranked search finds the files that answer questions about code, beside published peers.

    python -m benchmarks.code_search EVALUATION CHECKOUTS [--meaning] [--publish] [--kept FOLDER]

The questions, the answers and the peers' scores are read from the evaluation's folder, the files
from CHECKOUTS/NAME. With --kept the indexes stay, and a second run starts with them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from math import log2, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchmarks.__main__ import publish
from benchmarks.measure import Table, Times, load, machine, repeated, time_of
from benchmarks.retrieval_rivals import PlainRanking
from benchmarks.retrieval_trees import Span
from rolltop.core import embedding
from rolltop.core.context import AppContext
from rolltop.core.db import Database
from rolltop.core.dispatch import ToolRegistry, dispatch
from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.principal import Principal
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.retrieval.index import trigram_index
from rolltop.toolsets.retrieval.service import ranking
from rolltop.workspace import Roots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_DEEPEST: Final = 10
# Ten different files are among so many results, or the answer has fewer.
_LIMIT: Final = 100
_USER: Final = Principal.for_user("00000000-0000-4000-8000-000000000001")
_SOURCES: Final = re.compile(
    r"\.(bash|bats|c|cc|cpp|cs|cxx|exs?|go|h|hh|hpp|hs|hxx|java|jsx?|kts?|lua|mjs|php|pyi?|rb|rs|"
    r"scala|sh|swift|tsx?|zig)$"
)
# Characters of the parts that plain BM25 ranks.
_PART: Final = 1_500
_HOW: Final = (
    "nDCG@10 with gains of 0 or 1, the mean over repositories ± its standard error (of one "
    "repository: over its questions). File: over the distinct files of an answer, spans ignored. "
    "As they come: over the results, spans respected; so are the peers scored. BM25 here ranks "
    "parts of source files, as a check of the harness."
)
_COSTS: Final = (
    "In one process, the limit left out: the first call of a fresh data folder, calls with the "
    "index in memory, each question once after one that does not count, the time to index and the "
    "size of the index."
)


@dataclass(frozen=True)
class CodeQuestion:
    """A question of a category about one repository, and the places that answer it."""

    text: str
    category: str
    answers: tuple[Span, ...]


@dataclass
class Scores:
    """nDCG@10 of one way of searching one repository, question by question."""

    files: list[float] = field(default_factory=list[float])
    results: list[float] = field(default_factory=list[float])


@dataclass(frozen=True)
class Repository:
    """A repository of the evaluation, and what was measured on it."""

    name: str
    language: str
    folder: Path
    questions: Sequence[CodeQuestion]
    ways: dict[str, Scores] = field(default_factory=dict[str, Scores])
    costs: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])

    def score(self, way: str, answers: Iterable[Sequence[Span]]) -> None:
        """Record how well a way of searching answered the questions."""
        scores = self.ways[way] = Scores()
        for question, found in zip(self.questions, answers, strict=True):
            files = [Span(path) for path in dict.fromkeys(one.path for one in found)]
            paths = {Span(one.path) for one in question.answers}
            scores.files.append(ndcg(files, tuple(paths)))
            scores.results.append(ndcg(found, question.answers))


def ndcg(found: Sequence[Span], wanted: Sequence[Span]) -> float:
    """Return nDCG@10, each wanted place at the rank of the first result that meets it."""
    ranks = [
        next((at for at, one in enumerate(found[:_DEEPEST]) if _meets(one, place)), None)
        for place in wanted
    ]
    best = sum(1 / log2(at + 2) for at in range(min(len(wanted), _DEEPEST)))
    return sum(1 / log2(at + 2) for at in ranks if at is not None) / best


def _meets(found: Span, wanted: Span) -> bool:
    whole = not wanted.end or not found.end
    overlaps = whole or (found.start <= wanted.end and wanted.start <= found.end)
    return found.path == wanted.path and overlaps


def read_repositories(evaluation: Path, checkouts: Path) -> list[Repository]:
    """Return the repositories that are checked out, with their questions."""
    listed = json.loads((evaluation / "repos.json").read_text(encoding="utf-8"))
    return [
        Repository(
            one["name"],
            one["language"],
            checkouts / one["name"],
            _read_questions(evaluation / "annotations" / f"{one['name']}.json"),
        )
        for one in listed
        if (checkouts / one["name"]).is_dir()
    ]


def _read_questions(path: Path) -> list[CodeQuestion]:
    return [
        CodeQuestion(
            one["query"],
            one["category"],
            tuple(map(_place, (*one["relevant"], *one["secondary"]))),
        )
        for one in json.loads(path.read_text(encoding="utf-8"))
    ]


def _place(given: str | Mapping[str, Any]) -> Span:
    if isinstance(given, str):
        return Span(given)
    return Span(given["path"], given["start_line"], given["end_line"])


class Server:
    """The product's own service over one repository, in this process."""

    def __init__(self, folder: Path, data: Path) -> None:
        declared = [*CORE_SETTINGS, *(one for toolset in TOOLSETS for one in toolset.settings)]
        settings = {"data_dir": data, "max_result_tokens": 0}
        self._app: Final = AppContext(
            Settings.defaults(declared).replace(settings),
            Database(f"sqlite:///{data / 'unopened' / 'store.db'}"),
            Roots.open({"code": folder}, base=folder),
            ToolRegistry(TOOLSETS, None),
        )

        self._runner: Final = asyncio.Runner()

    def close(self) -> None:
        """End what the service runs on."""
        self._runner.close()
        self._app.close()

    def search(self, text: str, **more: object) -> list[Span]:
        """Return the results of one call."""
        arguments = {"query": text, **more}
        answer = self._runner.run(dispatch(self._app, "repo_smart_search", _USER, arguments))
        assert not answer.is_error, answer.text
        return [
            Span(one["path"], one["line"], one["end_line"]) for one in answer.structured["result"]
        ]

    def index(self) -> None:
        """Index every file."""
        trigram_index.update_index(self._app)
        ranking.update_index(self._app)

    @property
    def waiting(self) -> int:
        """The files that the last search found missing from the index."""
        indexes = self._app.service(ranking.open_chunk_indexes)
        return sum(indexes.state(root).waiting for root in self._app.roots.named)

    def embed(self) -> None:
        """Make the vectors that searches lacked."""
        while ranking.has_pending(self._app):
            ranking.update_vectors(self._app)


def measure(repository: Repository, data: Path, *, meaning: bool) -> None:
    """Ask all questions by words, and by meaning too where wanted."""
    texts = [question.text for question in repository.questions]
    is_fresh = not data.is_dir()
    with closing(Server(repository.folder, data)) as server:
        begun = repeated(partial(server.search, texts[0]), 1, warm=0)
        indexed = time_of(server.index)
        for text in texts:
            repository.seconds.extend(repeated(partial(server.search, text), 1).seconds)
        assert not server.waiting, "files were written while the index was made"
        repository.score("words", [server.search(text, limit=_LIMIT) for text in texts])
        if meaning:
            assert embedding.try_load_embedder() is not None, "the extra semantic is not installed"
            for _ in range(2):  # what the first round ranks by new vectors may lack others
                for text in texts:
                    server.search(text)
                server.embed()
            found = [server.search(text, limit=_LIMIT) for text in texts]
            repository.score("meaning", found)
    size = sum(one.stat().st_size for one in data.rglob("*") if one.is_file())
    times = Times(tuple(repository.seconds))
    repository.costs.extend(
        (
            f"{begun.median * 1e3:.0f} ms" if is_fresh else "-",
            f"{times.at(0.5) * 1e3:.0f}",
            f"{times.at(0.95) * 1e3:.0f}",
            f"{indexed:.1f} s" if is_fresh else "-",
            f"{size / 1e6:.1f} MB",
        )
    )


def _plain_parts(folder: Path) -> list[tuple[Span, str]]:
    """Cut source files into parts of whole lines."""
    parts: list[tuple[Span, str]] = []
    for path in sorted(folder.rglob("*")):
        if not _SOURCES.search(path.name) or not path.is_file():
            continue
        name = path.relative_to(folder).as_posix()
        lines, begun = list[str](), 1
        text = path.read_text(encoding="utf-8", errors="replace")
        for number, line in enumerate(text.split("\n"), 1):
            lines.append(line)
            if sum(map(len, lines)) >= _PART:
                parts.append((Span(name, begun, number), "\n".join(lines)))
                lines, begun = [], number + 1
        parts.append((Span(name, begun, begun + len(lines)), "\n".join(lines)))
    return parts


def _mean(values: Sequence[float]) -> str:
    error = statistics.stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.3f} ± {error:.3f}"


def _means(repositories: Sequence[Repository], way: str, category: str = "") -> tuple[str, str]:
    """Return the mean over repositories (of one: over questions), by file and as they come."""
    by_file: list[list[float]] = []
    as_come: list[list[float]] = []
    for one in repositories:
        chosen = [at for at, each in enumerate(one.questions) if category in {"", each.category}]
        scores = one.ways[way]
        if chosen:
            by_file.append([scores.files[at] for at in chosen])
            as_come.append([scores.results[at] for at in chosen])
    if len(by_file) == 1:
        return _mean(by_file[0]), _mean(as_come[0])
    return _mean(list(map(statistics.fmean, by_file))), _mean(list(map(statistics.fmean, as_come)))


def tables(repositories: Sequence[Repository], evaluation: Path) -> list[Table]:
    """Return quality by way, category, language and repository, and the costs."""
    ways = list(repositories[0].ways)
    groups = [("all", repositories, "")]
    categories = sorted({each.category for one in repositories for each in one.questions})
    groups += [(category, repositories, category) for category in categories]
    for language in sorted({one.language for one in repositories}):
        groups.append((language, [one for one in repositories if one.language == language], ""))
    rows = [
        (name, way, *_means(members, way, category))
        for name, members, category in groups
        for way in ways
    ]
    rows += [
        (f"peer: {peer}", "", "", _mean(scores))
        for peer, scores in _peers(evaluation, repositories).items()
    ]
    each = [(one.name, way, *_means([one], way)) for one in repositories for way in ways]
    costs = [(one.name, *one.costs) for one in repositories]
    times = Times(tuple(second for one in repositories for second in one.seconds))
    costs.append(("all", "", f"{times.at(0.5) * 1e3:.0f}", f"{times.at(0.95) * 1e3:.0f}", "", ""))
    headers = ("way", "file", "as they come")
    return [
        Table("code search", _HOW, ("over", *headers), rows),
        Table("code search by repository", _HOW, ("repository", *headers), each),
        Table(
            "code search: time and room",
            f"{_COSTS} {load()}",
            ("repository", "first answer", "p50, ms", "p95, ms", "indexed in", "index"),
            costs,
        ),
    ]


def _peers(evaluation: Path, repositories: Sequence[Repository]) -> dict[str, list[float]]:
    """Return the published scores of others on the same repositories."""
    names = {one.name for one in repositories}
    found: dict[str, list[float]] = {}
    for one in json.loads((evaluation / "peers.json").read_text(encoding="utf-8")):
        if one["repo"] in names:
            found.setdefault(one["peer"], []).append(one["ndcg10"])
    return found


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("evaluation", type=Path)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--meaning", action="store_true")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks.md, too")
    parser.add_argument("--kept", type=Path, help="a folder where the indexes stay")
    given = parser.parse_args()
    repositories = read_repositories(given.evaluation, given.checkouts)
    with tempfile.TemporaryDirectory() as temporary:
        data = given.kept or Path(temporary)
        for one in repositories:
            measure(one, data / one.name, meaning=given.meaning)
            plain = PlainRanking(_plain_parts(one.folder), tokenize)
            one.score("BM25 over parts", [plain.search(each.text) for each in one.questions])
    for table in tables(repositories, given.evaluation):
        if given.publish:
            publish(table)
        else:
            print(table.markdown())
    print(f"Machine: {machine()}.")


if __name__ == "__main__":
    main()
