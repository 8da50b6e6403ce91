"""Lists: the query language, filters, order, pages, previews."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolltop.core import pagination
from rolltop.core.cursor import encode, pack_bytes
from rolltop.core.fulltext.relevance import MAX_RERANKED
from rolltop.toolsets.notes import note_list
from rolltop.toolsets.notes.models import Content, NewNote
from rolltop.toolsets.notes.store import list_queries as pages
from rolltop.toolsets.notes.store.notebooks import Notebook
from tests.campaign import examples

if TYPE_CHECKING:
    from rolltop.core.db import Tx
    from tests.databases import Clock
    from tests.toolsets.notes.caller import Caller

TEXTS = {
    "Harbour": "Harbour\nThe storm broke three masts of parseHTTPHeader",
    "Übersicht": "Übersicht\nStürme and storms, café au lait, load_index",
    "日本語": "日本語\n東京都の天気 Python入門書",
    "Masts": "Masts\nmasts three, storm none",
    "Party": "Party\n🎉 → cake; C++ & 50% off_1",
}


@pytest.fixture
def shelf(mine: Caller) -> Caller:
    for text in TEXTS.values():
        mine.note(text)
    return mine


QUERIES = {
    "storm": ["Harbour", "Masts", "Übersicht"],
    "storms MASTS": ["Harbour", "Masts", "Übersicht"],
    "sturm": ["Übersicht"],
    "Sturme": ["Übersicht"],
    "cafe": ["Übersicht"],
    '"three masts"': ["Harbour"],
    '"masts three"': ["Masts"],
    "“three masts”": ["Harbour"],
    '"three masts': ["Harbour"],
    "„three masts“ storm": ["Harbour"],
    "„three masts“ broke storm": ["Harbour"],
    '27" masts storm': ["Harbour", "Masts", "Übersicht"],
    '12" or 7" masts storm': ["Harbour", "Masts", "Übersicht"],
    "storm --masts": ["Harbour", "Masts", "Übersicht"],
    "--masts": ["Harbour", "Masts"],
    "storm -masts": ["Übersicht"],
    '-"three masts" storm': ["Masts", "Übersicht"],
    "-storm": ["Party", "日本語"],
    "parse header": ["Harbour"],
    "parseHTTPHeader": ["Harbour"],
    "parse_http_header": ["Harbour"],
    "http": ["Harbour"],
    "loadIndex": ["Übersicht"],
    "the storm": ["Harbour", "Masts", "Übersicht"],
    "the": ["Harbour"],
    "日本": ["日本語"],
    "本語": ["日本語"],
    "天気": ["日本語"],
    "京天": [],
    "語": ["日本語"],
    "入門": ["日本語"],
    "python": ["日本語"],
    "🎉": ["Party"],
    "→ cake": ["Party"],
    "🎈": [],
    "C++": ["Party"],
    "!!!": [*TEXTS],
    '""': [*TEXTS],
    "-": [*TEXTS],
    "storm AND masts": ["Harbour", "Masts", "Übersicht"],
    "storm NOT masts": ["Übersicht"],
    'storm NOT "three masts"': ["Masts", "Übersicht"],
    "storm NOT": ["Harbour", "Masts", "Übersicht"],
    "storm not masts": ["Harbour", "Masts", "Übersicht"],
    "storm NEAR(masts)": ["Harbour", "Masts", "Übersicht"],
    "words: storm*": ["Harbour", "Masts", "Übersicht"],
    "before: storm": ["Harbour", "Masts", "Übersicht"],
    "Why was the Harbour closed in winter?": ["Harbour"],
    "Harb": ["Harbour"],
    "par*": ["Harbour", "Party"],
    "three -par*": ["Masts"],
    "Which of these was it? The cake": ["Party"],
    "the nowhere": ["Harbour"],
    '"three masts" nowhere': ["Harbour"],
    "🎈 storm": ["Harbour", "Masts", "Übersicht"],
    "": [*TEXTS],
}


def test_conditions_hold_however_many_there_are(shelf: Caller) -> None:
    """Of those that a search cannot bear the answer says that not all of the query counts."""

    def found(q: str) -> tuple[list[str], str | None]:
        answer = shelf.ok("note_list", q=q)
        return sorted(item["title_prev"] for item in answer["items"]), answer.get("matched")

    many = range(120)
    shelf.note("Tagged\nstorm", tags=[f"t{number}" for number in range(100)])
    excluded = " ".join(f'-"no {number}"' for number in many)
    assert found(f'storm {excluded} -"three masts"') == (["Masts", "Tagged", "Übersicht"], "all")
    assert found(f'{excluded} -"storm"')[0] == ["Party", "日本語"]
    tags = " ".join(f"tag:t{number}" for number in range(100))
    assert found(f"{tags} storm") == (["Tagged"], "all")
    assert found(f"{tags} tag:other storm")[0] == []
    untagged = " ".join(f"-tag:u{number}" for number in many)
    assert found(f"storm {untagged} -tag:t1")[0] == ["Harbour", "Masts", "Übersicht"]
    shelf.note("Numbers\n" + " ".join(map(str, range(100, 132))))
    phrases = [f'"{number}"' for number in range(100, 133)]
    assert found(" ".join(phrases[:32])) == (["Numbers"], "all")
    assert found(" ".join(phrases)) == (["Numbers"], "some")
    names = " ".join(f"w{number}" for number in range(32))
    shelf.note(f"Names\n{names}")
    assert [found(names)[1], found(f"the {names} w32")[1]] == ["all", "some"]


def test_a_query_finds_what_a_person_means(shelf: Caller) -> None:
    found = {q: shelf.titles(q) for q in QUERIES}
    assert found == {q: sorted(titles) for q, titles in QUERIES.items()}


def test_a_question_is_answered_by_the_notes_with_most_of_its_words(mine: Caller) -> None:
    for text in ("alpha beta gamma", "alpha beta", "alpha", "Kubernetes cluster", "checklist"):
        mine.note(text)

    def asked(q: str, **more: Any) -> tuple[list[str], str | None, str | None]:
        answer = mine.ok("note_list", q=q, **more)
        found = [item["title_prev"] for item in answer["items"]]
        assert answer["total_items"] == len(found)
        return found, answer.get("matched"), answer.get("nearest")

    three = ["alpha beta gamma", "alpha beta", "alpha"]
    assert asked("Who are alpha, beta and gamma?") == (three, "all", None)
    assert asked("alpha beta gamma", sort="modified") == (three[:1], "all", None)
    assert asked("alpha beta gamma omega") == (three, "some", None)
    assert asked("Kuber") == (["Kubernetes cluster"], "prefix", None)
    assert asked("alpha kube*") == (["Kubernetes cluster", *three[::-1]], "prefix", None)
    assert asked("Kubernites") == ([], None, "kubernetes")
    assert asked("zzz") == ([], None, None)
    mine.note("Harbour (lanterns), quay_lights, Überschrift")
    nearest = [asked(q)[2] for q in ("lantorns", "vlanterns", "Überschrit")]
    assert nearest == ["lanterns", "lanterns", "überschrift"]
    assert asked("Kubernetes NOT cluster") == ([], None, None)


def test_every_filter_applies_inside_the_search(mine: Caller, clock: Clock) -> None:
    one = mine.note("storm one", tags=["Work", "home"])
    mine.note("storm two", tags=["work"])
    clock.advance(days=1)
    late = mine.note("storm late", tags=["work", "two words"])
    mine.manage("trash", id=mine.note("storm gone", tags=["work"]), local_version=1)
    assert mine.titles("storm tag:WORK") == ["storm late", "storm one", "storm two"]
    assert mine.titles("storm tag:work tag:home") == ["storm one"]
    assert mine.titles("storm tag:work", tags=["Home"]) == ["storm one"]
    assert mine.titles(tags=["work", "nowhere"]) == []
    assert mine.titles('tag:"two words"') == ["storm late"]
    assert mine.titles("storm -tag:home") == ["storm late", "storm two"]
    assert mine.titles("storm", trash_s=1) == ["storm gone"]
    assert len(mine.titles("storm", trash_s=2)) == 4
    assert mine.titles("storm before:2026-01-31") == ["storm one", "storm two"]
    assert mine.titles("after:2026-02-01") == ["storm late"]
    assert mine.titles("storm", dt_after="2026-02-01") == ["storm late"]
    assert mine.titles("after:2026-01-01 after:2026-02-01 before:2030-01-01") == ["storm late"]
    assert mine.titles("before:2030-01-01", dt_before="2026-01-31") == ["storm one", "storm two"]
    assert mine.ok("note_list", q="storm tag:work", limit=1)["total_items"] == 3
    assert {one, late} <= set(mine.listed(q="storm"))


def test_the_days_bounds_are_strict(mine: Caller, clock: Clock) -> None:
    clock.now = clock.now.replace(hour=0, minute=0, second=0, microsecond=0)
    mine.note("midnight")
    assert mine.titles("before:2026-01-30") == []
    assert mine.titles("before:2026-01-30 after:2026-01-31") == []
    assert mine.titles("before:2026-01-31") == ["midnight"]
    assert mine.titles("after:2026-01-31") == []
    assert mine.titles("after:2026-01-30") == ["midnight"]


@pytest.mark.parametrize(
    "given",
    [
        {"q": "before:2026-02-30"},
        {"q": "after:someday"},
        {"q": "x after:2026-1-1"},
        {"q": 'before:"2026-13-01"'},
        {"q": "AFTER:20260101"},
        {"dt_before": "2026-W01-1"},
        {"dt_after": " "},
        {"dt_after": "2026-01-01T00:00:00Z"},
        {"dt_before": "\uff12026-01-01"},
    ],
)
def test_only_a_wrong_date_is_refused(local: Caller, given: dict[str, str]) -> None:
    error = local.fails("note_list", **given)
    assert (error["code"], error["category"]) == ("INVALID_DATE", "VALIDATION")


OPERATORS = st.sampled_from(
    ["*", "(", ")", '"', "'", "-", "+", "^", ":", "AND", "OR", "NOT", "NEAR/2", "tag:", "{", "\\"]
)
TYPED = st.lists(st.one_of(OPERATORS, st.text(max_size=6), st.just(" ")), max_size=8)


@settings(
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(parts=TYPED)
def test_nothing_a_person_can_type_makes_the_search_fail(shelf: Caller, parts: list[str]) -> None:
    q = "".join(parts)
    answer = shelf.ok("note_list", q=q) if not _names_a_date(q) else None
    assert answer is None or 0 <= answer["total_items"] <= len(TEXTS)


def _names_a_date(q: str) -> bool:
    return "before:" in q.lower() or "after:" in q.lower()


def test_a_query_of_any_length_is_answered(shelf: Caller) -> None:
    words = " ".join(f"word{n}" for n in range(5000))
    assert shelf.titles(words) == ["Party"]  # which has the 1 of word1
    assert shelf.titles(f'"{words}"') == []
    assert shelf.titles("-x " * 5000) == sorted(TEXTS)
    assert shelf.titles("storm " * 5000) == ["Harbour", "Masts", "Übersicht"]
    assert shelf.titles("🎉" * 5000) == []


def test_without_a_search_the_last_modified_is_first(mine: Caller, clock: Clock) -> None:
    first = mine.note("first")
    clock.advance(seconds=1)
    second = mine.note("second")
    clock.advance(seconds=1)
    mine.ok("note_save", id=first, local_version=1, text="first again")
    assert mine.listed() == [first, second]
    assert mine.listed(sort="created") == [second, first]
    assert mine.listed(sort="rank") == [first, second]
    assert mine.listed(q="first again -x", sort="modified") == [first]
    assert mine.listed(q="second first again -x", sort="modified") == [first, second]


def test_the_best_answer_is_first_and_then_the_newest(mine: Caller, clock: Clock) -> None:
    filler = " ".join(f"word{n}" for n in range(200))
    mine.note(f"long storm {filler}")
    best = mine.note("storm storm storm")
    clock.advance(seconds=1)
    same = [mine.note("storm calm")]
    clock.advance(seconds=1)
    same.append(mine.note("storm calm"))
    found = mine.listed(q="storm")
    assert found[0] == best
    assert found[1:3] == same[::-1]
    assert mine.listed(q="storm", sort="modified")[:2] == same[::-1]


ORDERED: tuple[dict[str, Any], ...] = (
    {},
    {"sort": "created"},
    {"q": "storm"},
    {"q": "-calm"},
    {"q": "storm tag:t"},
    {"q": "storm after:2026-01-01"},
)


@pytest.mark.parametrize("filters", ORDERED[:4])
def test_pages_and_cursors_show_each_note_once(
    mine: Caller, clock: Clock, filters: dict[str, Any]
) -> None:
    _show_each_once(mine, clock, filters)


@pytest.mark.parametrize("filters", ORDERED)
def test_pages_and_cursors_show_each_note_of_a_user_alone_once(
    local: Caller, clock: Clock, filters: dict[str, Any]
) -> None:
    """On SQLite the index of words alone tells what a search finds, where nobody else is in it."""
    _show_each_once(local, clock, filters)


def _show_each_once(caller: Caller, clock: Clock, filters: dict[str, Any]) -> None:
    """Compare a list with its pages by number and by cursor; many notes are equally good."""
    for n in range(23):
        caller.note(f"storm {'storm ' * (n % 4)}{n}", tags=["t"])
        if n % 3 == 0:
            clock.advance(seconds=1)
    caller.manage("trash", id=caller.note("storm in the trash", tags=["t"]), local_version=1)
    whole = caller.listed(**filters, limit=100)
    assert len(set(whole)) == 23
    by_page: list[str] = []
    page: int | None = 1
    while page is not None:
        answer = caller.ok("note_list", **filters, limit=5, page=page)
        by_page += [item["id"] for item in answer["items"]]
        assert answer["total_items"] == 23
        page = answer.get("next_page")
    by_cursor: list[str] = []
    following: dict[str, Any] | None = {"tool": "note_list", "arguments": {**filters, "limit": 5}}
    while following is not None:
        answer = caller.ok(following["tool"], **following["arguments"])
        by_cursor += [item["id"] for item in answer["items"]]
        assert ("next_cursor" in answer) == ("next" in answer)
        following = answer.get("next")
    assert by_page == by_cursor == whole
    assert caller.listed(**filters, limit=5, page=1 << 62) == []


def test_a_search_goes_on_where_it_was_though_notes_are_written_meanwhile(mine: Caller) -> None:
    _write_between_pages(mine, "storm")


@pytest.mark.parametrize("query", ["storm", "the storm or a squall"])
def test_a_search_of_a_user_alone_goes_on_where_it_was_though_notes_are_written_meanwhile(
    local: Caller, query: str
) -> None:
    _write_between_pages(local, query)


def _write_between_pages(caller: Caller, query: str) -> None:
    """Add a note after each page: that changes all ranks, which are equal here."""
    for n in range(46):
        caller.note(f"storm over the harbour {n:02}")
    whole = caller.listed(q=query, limit=100)
    found: list[str] = []
    following: dict[str, Any] | None = {"q": query, "limit": 9}
    while following is not None:
        answer = caller.ok("note_list", **following)
        found += [item["id"] for item in answer["items"]]
        caller.note(f"calm {'and nothing else ' * len(found)}")
        following = answer["next"]["arguments"] if "next" in answer else None
    assert found == whole


def pages_of(caller: Caller, **filters: Any) -> list[str]:
    """Return the ids of all pages, by their cursors."""
    found: list[str] = []
    following: dict[str, Any] | None = {"arguments": filters}
    while following is not None:
        answer = caller.ok("note_list", **following["arguments"])
        found += [item["id"] for item in answer["items"]]
        following = answer.get("next")
    return found


def test_a_search_that_most_notes_answer_has_the_newest_first(
    mine: Caller, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_list, "MAX_RANKED", 4)
    made: list[str] = []
    for n in range(6):
        made.append(mine.note(f"storm n{n} " + "filler " * 20 * n))
        clock.advance(seconds=1)
    assert mine.listed(q="storm") == made[::-1]
    assert pages_of(mine, q="storm", limit=2) == made[::-1]
    assert mine.listed(q="storm -n5 -n4")[0] == made[0]
    assert mine.listed(q="storm", sort="rank")[0] == made[0]
    first = mine.ok("note_list", q="storm", limit=4)
    mine.manage("trash", id=made[0], local_version=1)
    mine.manage("trash", id=made[1], local_version=1)
    rest = mine.ok("note_list", **first["next"]["arguments"])
    assert rest["items"] == []
    assert mine.listed(q="storm")[0] == made[2]
    assert mine.code("note_list", limit=4, cursor=first["next_cursor"]) == "INVALID_ARGUMENT"


NARROWED: tuple[dict[str, Any], ...] = (
    {"q": "storm"},
    {"q": "storm -calm"},
    {"q": "-calm"},
    {"q": "storm tag:odd"},
    {"q": "storm -tag:odd"},
    {"q": "-tag:odd"},
    {"tags": ["odd"]},
    {"tags": ["odd", "third"]},
    {"tags": ["odd"], "q": "-tag:third"},
    {"tags": ["odd"], "q": "-calm"},
    {"q": "storm after:2026-01-01"},
    {"q": "storm 🎉"},
)


def test_counts_and_pages_agree_whatever_narrows_the_list(
    mine: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    _agree(mine, monkeypatch)


@pytest.mark.parametrize("asked", [None, 0, 1000])
def test_counts_and_pages_agree_for_a_user_alone(
    local: Caller, monkeypatch: pytest.MonkeyPatch, asked: int | None
) -> None:
    _agree(local, monkeypatch, asked)


def _agree(caller: Caller, monkeypatch: pytest.MonkeyPatch, asked: int | None = None) -> None:
    """Compare count and pages of every narrowed list.

    `asked`: as where much is wanted, so that notes are walked over; each is asked for its words
    where that costs nothing, else those with the words are listed.
    """
    if asked is not None:
        monkeypatch.setattr(note_list, "MAX_RANKED", 0)
        monkeypatch.setattr(pages, "SCAN_COST", 1000)
        monkeypatch.setattr(pages, "INDEX_ROWS_PER_LOOKUP", asked)
    for n in range(12):
        tags = [name for name, every in (("odd", 2), ("third", 3)) if n % every]
        words = "calm" if n % 4 == 3 else "storm"
        note = caller.note(f"{words} {n} {'calm' * (n == 5)} {'🎉' * (n % 3)}", tags=tags)
        if n % 5 == 4:
            caller.manage("trash", id=note, local_version=1)
    for trash in (0, 2):
        for filters, count in zip(NARROWED, _wanted_of(trash), strict=True):
            answer = caller.ok("note_list", limit=1, trash_s=trash, **filters)
            found = pages_of(caller, limit=5 if asked is None else 2, trash_s=trash, **filters)
            told = (answer["total_items"], len(found), len(set(found)))
            assert told == (count, count, count), (filters, trash)


def _wanted_of(trash: int) -> list[int]:
    """Return how many notes each of NARROWED is of."""
    shown = [n for n in range(12) if trash == 2 or (n % 5 == 4) == bool(trash)]
    storm = [n for n in shown if n % 4 != 3]
    calm = {n for n in shown if n % 4 == 3 or n == 5}
    odd = {n for n in shown if n % 2}
    third = {n for n in shown if n % 3}
    return [
        len(storm),
        len(set(storm) - calm),
        len(set(shown) - calm),
        len(set(storm) & odd),
        len(set(storm) - odd),
        len(set(shown) - odd),
        len(odd),
        len(odd & third),
        len(odd - third),
        len(odd - calm),
        len(storm),
        len(set(storm) & third),
    ]


@pytest.mark.parametrize(
    "given",
    [
        {"cursor": "nonsense"},
        {"cursor": "notes~bm9uc2Vuc2U"},
        {"cursor": "list_tasks.1"},
        {"cursor": encode("notes", ["modified", 10**400, 0, "x"])},
        {"cursor": encode("notes", ["modified", float("nan"), 0, "x"])},
        {"cursor": encode("notes", ["broad", 1.0, 0, "x"])},
        {"cursor": encode("notes", ["A" * 34])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"m", float("nan")) + b"x")])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"m", float("inf")) + b"x")])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"m", 1.0) + b"\x00")])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"m", 1.0) + b"\xff")])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"M", 1.0) + b"x")])},
        {"cursor": encode("notes", [pack_bytes(struct.pack(">cd", b"b", 1.0) + b"x")])},
        {"cursor": encode("notes", [5])},
        {"limit": 0},
        {"limit": 101},
        {"page": 0},
        {"trash_s": 3},
        {"sort": "title"},
        {"preview_lines": 21},
        {"limit": "5 notes"},
    ],
)
def test_a_wrong_argument_of_a_list_is_named(local: Caller, given: dict[str, Any]) -> None:
    error = local.fails("note_list", **given)
    assert error["code"] == "INVALID_ARGUMENT"
    assert next(iter(given)) in error["message"]


def test_a_cursor_of_another_order_is_refused(local: Caller) -> None:
    for n in range(3):
        local.note(f"storm {n}")
    cursor = local.ok("note_list", limit=1)["next_cursor"]
    assert local.code("note_list", q="storm", limit=1, cursor=cursor) == "INVALID_ARGUMENT"


def test_a_cursor_goes_on_the_list_that_answered_it_alone(local: Caller) -> None:
    for n in range(4):
        local.note(f"alpha beta {n}", tags=["a", "b"])
    for n in range(2):
        local.note(f"beta {n}", tags=["b"], trash=True)
    lists: list[dict[str, Any]] = [
        {},
        {"tags": ["a"]},
        {"tags": ["b"]},
        {"tags": ["a", "b"]},
        {"trash_s": 2},
        {"dt_after": "2000-01-01"},
        {"dt_before": "2100-01-01"},
        {"q": "alpha"},
        {"q": "beta"},
    ]
    for asked in lists:
        cursor = local.ok("note_list", limit=1, **asked)["next_cursor"]
        local.ok("note_list", cursor=cursor, limit=2, preview_lines=1, **asked)
        for other in lists:
            if other != asked:
                error = local.fails("note_list", cursor=cursor, **other)
                assert error["code"] == "INVALID_ARGUMENT"
                assert "arguments" in error["resolution_hint"]


def test_titles_and_previews_are_of_stated_length(local: Caller) -> None:
    local.note("\n\n \t\n  " + "t" * 100 + "  \nsecond\nthird")
    (item,) = local.ok("note_list", preview_lines=5)["items"]
    assert item["title_prev"] == "t" * 79 + "…"
    assert item["preview"].endswith("\nsecond")
    assert "preview" not in local.ok("note_list")["items"][0]
    local.note("x" * 3000)
    first = local.ok("note_list", preview_lines=1, q="-second")["items"][0]
    assert first["preview"] == "x" * 1999 + "…"


def test_a_list_over_its_budget_goes_on_where_it_was_cut(local: Caller) -> None:
    made = [local.note(f"{n} " + "word " * 60) for n in range(12)]
    found: list[str] = []
    arguments: dict[str, Any] = {"preview_lines": 5, "max_tokens": 500}
    for _ in range(len(made)):
        answer = local.ok("note_list", **arguments)
        found += [item["id"] for item in answer["items"]]
        if "next" not in answer:
            break
        assert answer["truncated"] is True
        assert "next_page" not in answer
        arguments = answer["next"]["arguments"]
    assert sorted(found) == sorted(made)


WORDY = "an investigation of a storm that went on for longer than anybody had expected"


@pytest.mark.parametrize(
    "filters", [{}, {"sort": "created"}, {"q": "storm"}, {"q": "storm", "preview_lines": 5}]
)
def test_notes_are_listed_within_the_smallest_budget(
    mine: Caller, clock: Clock, filters: dict[str, Any]
) -> None:
    for n in range(6):
        mine.note(f"{WORDY} {n}\n" + "storm and more\n" * n, tags=["weather", "t" * 60])
        clock.advance(microseconds=137)
    assert pages_of(mine, **filters, max_tokens=pagination.MIN_BUDGET) == mine.listed(**filters)


@pytest.mark.parametrize("filters", [{}, {"q": "storm"}])
def test_notes_of_any_id_are_listed_page_by_page(mine: Caller, filters: dict[str, Any]) -> None:
    ids = ["ż" * 256, "z", "0" * 32, "A0000000-0000-0000-0000-000000000000", "x" * 16, "🎉" * 4]
    new = [NewNote(Content("storm", modified=5e9), one) for one in ids]

    def add(tx: Tx) -> None:
        Notebook(tx).create(new, source="pull")

    mine.desk.database.write_sync(mine.scope, add)
    assert pages_of(mine, **filters, limit=1) == mine.listed(**filters)
    assert sorted(mine.listed(**filters)) == sorted(ids)


def test_what_changes_is_found_by_its_new_words_alone(mine: Caller) -> None:
    note = mine.note("before", tags=["old"])
    mine.ok("note_save", id=note, local_version=1, text="after", tags=["new"])
    assert mine.listed(q="before") == mine.listed(tags=["old"]) == []
    assert mine.listed(q="after tag:new") == [note]
    mine.manage("trash", id=note, local_version=2)
    mine.manage("delete_permanently", id=note, local_version=3)
    assert mine.listed(q="after", trash_s=2) == mine.listed(tags=["new"], trash_s=2) == []


def test_a_question_is_answered_by_the_note_where_its_words_meet(mine: Caller) -> None:
    filler = "\n".join(f"Ben: some words about number{n}" for n in range(20))
    for n in range(3):
        mine.note(f"{n} May\nAda: a kayak\n{filler}\nAda: the lake\n{filler}\nBen: we swim")
    best = mine.note(f"5 May\n{filler}\nAda: we went to the lake by kayak\n{filler}\n{filler}")
    found = mine.listed(q="When did Ada go to the lake by kayak?")
    assert (found[0], len(found)) == (best, 4)
    assert mine.listed(q="When did Ada go to the lake by kayak to swim?")[0] == best
    assert mine.listed(q="lake kayak swim")[0] != best  # the others have all the words


def test_pages_beyond_the_notes_that_are_ranked_anew_show_each_note_once(mine: Caller) -> None:
    for n in range(2 * MAX_RERANKED + 5):
        mine.note(f"{n}\nthe storm{' and more words' * (n % 7)}\n{'a calm' if n % 3 else ''}")
    whole = mine.listed(q="storm calm", limit=100)
    assert len(set(whole)) == 2 * MAX_RERANKED + 5
    assert pages_of(mine, q="storm calm", limit=7) == whole
    by_page = [mine.listed(q="storm calm", limit=7, page=page) for page in range(1, 14)]
    assert [note for page in by_page for note in page] == whole
