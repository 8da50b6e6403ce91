"""How often a question finds the session of a conversation that answers it: in notes and in cells.

`CONVERSATIONS` names a folder with files of FriendsQA (Apache 2.0, github.com/emorynlp/FriendsQA):
scenes of a series, with questions that people asked about them. The package chitchat-dataset (MIT),
where it is installed, has dialogues, of whose turns questions are made here: a few of a turn's
words in another sentence. Half of both was used to choose the ranking, half was kept for testing.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from benchmarks import stores
from benchmarks.measure import Table
from rolltop.core.fulltext import hybrid_query, indexer
from rolltop.core.fulltext.analyzer import chunks
from rolltop.core.fulltext.documents import IndexDocument
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets.notes import TOOLSET, note_list
from rolltop.toolsets.notes.models import Content, ListQuery, NewNote, NotePageRequest
from rolltop.toolsets.notes.store.notebooks import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rolltop.core.db import Tx

SESSIONS: Final = 27
QUESTIONS: Final = 200
"""Questions of one conversation at most."""
DEPTHS: Final = (1, 5, 10)
_FRIENDS: Final = {"tuning": "friendsqa_dev.json", "test": "friendsqa_tst.json"}
_MIN_TURNS: Final = 20
_NAMES: Final = (
    "Ada",
    "Boris",
    "Clara",
    "Dmitri",
    "Elena",
    "Frank",
    "Greta",
    "Hugo",
    "Ines",
    "Jan",
)
_ASKED: Final = ("When did {} {}?", "What did {} say about {}?", "Why does {} think of {}?")
_HOW: Final = (
    "One note or cell a session, 27 sessions a conversation, each conversation in a store of its "
    "own (alone) or all in one (together); share of questions whose session is among the first "
    "1, 5 and 10, with its standard error; words only, on SQLite."
)


@dataclass(frozen=True)
class Conversation:
    """Sessions, and questions with the number of the session that answers each."""

    sessions: tuple[str, ...]
    questions: tuple[tuple[str, int], ...]


def tables() -> list[Table]:
    """Return the table of sessions found by questions."""
    rows: list[tuple[str, ...]] = []
    for half in ("tuning", "test"):
        for name, talks in (("scenes", _scenes(half)), ("chats", _chats(half))):
            if talks:
                rows += _rows(f"{half}: {name}, alone", talks)
                rows += _rows(f"{half}: {name}, together", [_together(talks)])
    header = ("set", "questions", "in", *(f"first {depth}" for depth in DEPTHS), "p50", "p95")
    return [Table("notes and cells: found by questions", _HOW, header, rows)]


def _scenes(half: str) -> list[Conversation]:
    folder = os.environ.get("CONVERSATIONS")
    if folder is None:
        return []
    scenes = json.loads((Path(folder) / _FRIENDS[half]).read_text(encoding="utf-8"))["data"]
    chance = Random(5)  # noqa: S311  # a sample
    chance.shuffle(scenes)
    found: list[Conversation] = []
    for start in range(0, len(scenes) - SESSIONS // 2, SESSIONS):
        sessions: list[str] = []
        questions: list[tuple[str, int]] = []
        for at, scene in enumerate(scenes[start : start + SESSIONS]):
            (told,) = scene["paragraphs"]
            turns = [
                f"{' and '.join(one['speakers'])}: {one['utterance']}"
                for one in told["utterances:"]
            ]
            sessions.append("\n".join([_date(chance), *turns]))
            questions += [(one["question"], at) for one in told["qas"]]
        found.append(Conversation(tuple(sessions), tuple(questions)))
    return found


def _chats(half: str) -> list[Conversation]:
    package = find_spec("chitchat_dataset")
    if package is None or package.origin is None:
        return []
    raw = json.loads(Path(package.origin).with_name("dataset.json").read_text(encoding="utf-8"))
    chats = [[turn for some in chat["messages"] for turn in some] for chat in raw.values()]
    chats = [c for c in chats if len(c) >= _MIN_TURNS and len({t["sender"] for t in c}) > 1]
    chance = Random(7)  # noqa: S311  # a sample
    chance.shuffle(chats)
    starts = range(0, len(chats) - SESSIONS, SESSIONS)
    made = [_chat(chats[at : at + SESSIONS], chance) for at in starts]
    return made[half == "test" :: 2][:10]


def _chat(chats: Sequence[Sequence[dict[str, Any]]], chance: Random) -> Conversation:
    names = chance.sample(_NAMES, 2)
    sessions: list[str] = []
    questions: list[tuple[str, int]] = []
    for at, chat in enumerate(chats):
        senders = sorted({turn["sender"] for turn in chat})
        turns = [(names[senders.index(turn["sender"]) % 2], turn["text"]) for turn in chat]
        sessions.append("\n".join([_date(chance), *(f"{name}: {text}" for name, text in turns)]))
        asked = list(_questions(turns, chance))
        questions += [(one, at) for one in chance.sample(asked, min(5, len(asked)))]
    return Conversation(tuple(sessions), tuple(questions))


def _questions(turns: Sequence[tuple[str, str]], chance: Random) -> Iterator[str]:
    for name, text in turns:
        words = [w for w in re.findall(r"[a-z]+", text.lower()) if len(w) > 3]  # noqa: PLR2004
        if len(words) > 3:  # noqa: PLR2004  # one that tells something
            some = sorted(chance.sample(range(len(words)), 3))
            yield chance.choice(_ASKED).format(name, " the ".join(words[at] for at in some))


def _date(chance: Random) -> str:
    day = datetime(2022, 1, 5, tzinfo=UTC) + timedelta(minutes=chance.randrange(800_000))
    return f"{day:%I:%M %p} on {day.day} {day:%B}, {day.year}"


def _together(talks: Sequence[Conversation]) -> Conversation:
    sessions: list[str] = []
    questions: list[tuple[str, int]] = []
    for talk in talks:
        questions += [(asked, at + len(sessions)) for asked, at in talk.questions[:QUESTIONS]]
        sessions += talk.sessions
    return Conversation(tuple(sessions), tuple(questions))


def _rows(name: str, talks: Sequence[Conversation]) -> list[tuple[str, ...]]:
    places: dict[str, list[int]] = {"notes": [], "cells": []}
    times: dict[str, list[float]] = {"notes": [], "cells": []}
    settings = Settings.defaults([*CORE_SETTINGS, *TOOLSET.settings])

    def in_notes(tx: Tx, asked: str) -> list[str]:
        request = NotePageRequest(limit=max(DEPTHS))
        page = note_list.list_notes(tx, settings, ListQuery(asked), request)
        return [str(item["id"]) for item in page.items]

    def in_cells(tx: Tx, asked: str) -> list[str]:
        hits = hybrid_query.query(
            tx, asked, kinds=["cell"], filters={}, limit=max(DEPTHS), mode="words"
        )
        return [hit.id for hit in hits]

    tools: dict[str, Callable[[Tx, str], list[str]]] = {"notes": in_notes, "cells": in_cells}
    for talk in talks:
        with tempfile.TemporaryDirectory() as folder:
            database, scope = stores.opened(Path(folder))
            database.write_sync(scope, _fill, talk.sessions)
            for asked, right in talk.questions if len(talks) == 1 else talk.questions[:QUESTIONS]:
                for tool, search in tools.items():
                    start = perf_counter()
                    found = database.read_sync(scope, search, asked)
                    times[tool].append(1000 * (perf_counter() - start))
                    is_found = str(right) in found
                    places[tool].append(found.index(str(right)) if is_found else max(DEPTHS))
            database.close()
    return [
        (
            name,
            str(len(places[tool])),
            tool,
            *(_share([place < depth for place in places[tool]]) for depth in DEPTHS),
            f"{statistics.median(times[tool]):.1f} ms",
            f"{statistics.quantiles(times[tool], n=20)[-1]:.1f} ms",
        )
        for tool in tools
    ]


def _fill(tx: Tx, sessions: Sequence[str]) -> None:
    new = [NewNote(Content(t, modified=1e9 + n), str(n)) for n, t in enumerate(sessions)]
    Notebook(tx).create(new, source="import")
    documents = [
        IndexDocument("cell", str(number), part, text)
        for number, session in enumerate(sessions)
        for part, text in enumerate(chunks(session))
    ]
    indexer.put(tx, documents)


def _share(found: Sequence[bool]) -> str:
    share = statistics.fmean(found)
    return f"{share:.3f} ± {sqrt(share * (1 - share) / len(found)):.3f}"
