"""Words are found wherever they stand in a note, however often its other words come back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.fulltext.analyzer import tokenize
from rolltop.core.principal import Principal
from tests.databases import connect_as_system
from tests.desks import make_desk
from tests.schema_scripts import without_script
from tests.toolsets.notes.caller import Caller

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from tests.databases import MakeDatabase

LOG: Final = "\n".join(f"2026-11-23 order_{n} shipped" for n in range(1000, 1400))
LONG: Final = " ".join(f"w{n}" for n in range(8000))
NOTES: Final = {
    LOG: ["order_1399", '"order_1399 shipped"', "order_1000 order_1255 order_1256 order_1399"],
    "\n".join(f"getItem{chr(65 + n % 26)}{n}x()" for n in range(400)): ["getItemJ399x"],
    " ".join(f"v{n}" for n in range(1000)): ["v500", "v999", '"v998 v999"', "v0 v999"],
    " ".join(f"the whale{chr(97 + n % 26)}{n} swims" for n in range(400)): [
        '"the whalej399 swims"',
        '"whalei398 swims the"',
    ],
    "\n".join(f"日本第{n}回目" for n in range(400)): ["第399回目", '"第398回目 日本第399"', "第3"],
    "so " * 400 + "it ends " + "so " * 300: ['"so it ends so"', '"ends so so so"'],
    LONG: ["w7999", "w4000 w7999", '"w7998 w7999"'],
}
TITLES: Final = {query: text.splitlines()[0][:60] for text, some in NOTES.items() for query in some}


def found(caller: Caller, query: str) -> list[str]:
    return [title[:60] for title in caller.titles(query)]


def test_what_stands_late_in_a_note_is_found_and_excluded(mine: Caller) -> None:
    for note in NOTES:
        mine.note(note)
    assert {q: found(mine, q) for q in TITLES} == {q: [title] for q, title in TITLES.items()}
    assert found(mine, '"order_1000" -order_1399') == []
    assert found(mine, '-"order_1398 shipped" shipped') == []
    assert found(mine, '"w1" -w7999') == []
    assert found(mine, '"w1" -w8000') == [TITLES["w7999"]]
    assert len(found(mine, "-order_1399 -第399回目")) == len(NOTES) - 2
    assert found(mine, '"order_1398 order_1399"') == []


def test_a_note_that_grows_and_shrinks_is_found_by_its_words_of_now(mine: Caller) -> None:
    note = mine.note("order_1")
    mine.ok("note_save", id=note, local_version=1, text=LOG)
    assert mine.listed(q="order_1399") == [note]
    mine.ok("note_save", id=note, local_version=2, text="order_2", confirm_shrink=True)
    assert mine.listed(q='"order_1399"') == mine.listed(q='"order_1000"') == []
    assert mine.listed(q="order_2") == [note]


def test_notes_of_an_older_store_are_found_by_all_their_words(
    postgres_url: Callable[[], str], make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres_url()
    database = make_database(url)
    callers = [
        Caller(
            make_desk(database), Principal.for_user(database.write_sync(SYSTEM, add_user, email).id)
        )
        for email in ("a@example.org", "b@example.org")
    ]
    made = [[caller.note(text) for text in (LOG, LONG, "order_1", "")] for caller in callers]
    _leave_as_before(url)
    for caller, (log, *_rest) in zip(callers, made, strict=True):
        assert caller.listed(q='"order_1399"') == caller.listed(q='"w7999"') == []
        assert caller.listed(q="order_1000") == [log]
    monkeypatch.setattr("rolltop.core.db.schema_script.script_statements", without_script)
    again = make_desk(make_database(url))
    for caller, (log, long, short, empty) in zip(callers, made, strict=True):
        after = Caller(again, caller.scope)
        assert after.listed(q="order_1399") == after.listed(q="order_1000") == [log]
        assert after.listed(q="w7999 w1")[:1] == [long]
        assert after.listed(q="order_1") == [short]
        assert sorted(after.listed(q="-order_1399 -w4000")) == sorted([short, empty])


def _leave_as_before(url: str) -> None:
    """Make the index what notes_0001 left: parts of 5,000 words with 255 places of each word."""
    with connect_as_system(url) as connection:
        connection.execute("DELETE FROM search_whole_parts")
        texts = "SELECT number, user_id, content FROM note_texts"
        for number, owner, content in connection.execute(texts).fetchall():
            parts = _parts_of_before(content)
            is_long = len(parts) > 1
            connection.execute(
                "UPDATE search_wholes SET is_long = %s, words = %s::tsvector WHERE id = %s",
                [is_long, "" if is_long else parts[0], number],
            )
            for part, kept in enumerate(parts if is_long else []):
                connection.execute(
                    "INSERT INTO search_whole_parts VALUES (%s, %s, %s, %s::tsvector)",
                    [number, part, owner, kept],
                )
        mark = (
            "SET words = words || array_to_tsvector(ARRAY['@' || replace(user_id::text, '-', '')])"
        )
        connection.execute("UPDATE search_wholes " + mark + " WHERE NOT is_long")
        connection.execute("UPDATE search_whole_parts " + mark)
        connection.execute(
            "UPDATE rolltop_versions SET version_num = 'notes_0001'"
            " WHERE version_num LIKE 'notes_%'"
        )


def _parts_of_before(content: str) -> list[str]:
    """Return the parts as PostgreSQL takes them, which leaves out places of a word itself."""
    said = tokenize(content)
    starts = range(0, len(said), 4936) if len(said) > 5000 else [0]
    return [
        " ".join(f"'{word}':{at}" for at, word in enumerate(said[start : start + 5000], start=1))
        for start in starts
    ]
