"""Random histories of a user's notes, compared step by step with the model."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    invariant,
    rule,
)

from rolltop.core.accounts import add_user
from rolltop.core.db import SYSTEM
from rolltop.core.principal import Principal
from rolltop.core.text.patch import LineChange
from rolltop.toolsets.notes.models import ERASED_RETENTION_SECONDS
from rolltop.toolsets.notes.store.notebooks import purge_history
from tests.campaign import examples
from tests.desks import call_tool, make_desk
from tests.toolsets.histories import outcome, run_histories
from tests.toolsets.notes.model import Entry, Model

if TYPE_CHECKING:
    from collections.abc import Callable

    from rolltop.core.db import Database
    from tests.databases import Clock

KEEP = 4
WORDS = ["storm", "calm", "harbour", "日本"]
LINES = st.lists(st.sampled_from([*WORDS, "storm calm", "", "x" * 600]), max_size=5)
TEXTS = LINES.map("\n".join) | LINES.map(lambda lines: "".join(f"{line}\n" for line in lines))
TAGS = st.lists(st.sampled_from(["Work", "work", "ü"]), max_size=3)
VERSIONS = st.sampled_from([0, 0, 0, 1, 2, 5, -1])
"""How many versions behind the present one a call names."""
OPERATIONS = st.lists(
    st.builds(
        LineChange,
        st.sampled_from(["add", "mod", "del"]),
        st.integers(1, 6),
        st.sampled_from(["new", "storm\ncalm", ""]),
    ),
    min_size=1,
    max_size=3,
).map(lambda made: [LineChange(c.operation, c.line) if c.operation == "del" else c for c in made])


class Histories(RuleBasedStateMachine):
    """One user's notes."""

    database: Database
    clock: Clock
    notes = Bundle("notes")

    def __init__(self) -> None:
        super().__init__()
        self.model = Model(self.clock, KEEP)
        address = f"{uuid.uuid4()}@example.org"
        self.scope = Principal.for_user(self.database.write_sync(SYSTEM, add_user, address).id)
        self.desk = make_desk(self.database, settings={"notes.history": KEEP})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a call, or its error."""
        return call_tool(self.desk, self.scope, tool, **arguments).structured

    def same(self, answer: dict[str, Any], expected: Callable[[], Entry]) -> None:
        """Compare an answer with what the model does."""
        entry = outcome(expected)
        assert answer.get("error", {}).get("code", "") == (entry if isinstance(entry, str) else "")
        if isinstance(entry, str):
            return
        if "text" in answer:
            shown = (answer["text"], tuple(answer["tags"]), answer["local_version"])
            assert shown == (entry.now.text, entry.now.tags, entry.now.number)
        else:
            assert answer["new_local_version"] == entry.now.number

    def version(self, note: str, behind: int) -> int:
        """Return the version so many behind the present one."""
        entry = self.model.entries.get(note)
        return entry.now.number - behind if entry else 1

    @rule(target=notes, text=TEXTS, tags=TAGS)
    def create(self, text: str, tags: list[str]) -> str:
        answer = self.call("note_save", text=text, tags=tags)
        self.same(answer, lambda: self.model.create(answer["id"], text, tags))
        return answer["id"]

    @rule(note=notes, behind=VERSIONS, text=TEXTS, tags=st.none() | TAGS)
    def save(self, note: str, behind: int, text: str, tags: list[str] | None) -> None:
        version = self.version(note, behind)
        answer = self.call("note_save", id=note, local_version=version, text=text, tags=tags)
        self.same(answer, lambda: self.model.save(note, version, text, tags))

    @rule(note=notes, behind=VERSIONS, made=OPERATIONS)
    def patch(self, note: str, behind: int, made: list[LineChange]) -> None:
        version = self.version(note, behind)
        sent = [{"op": c.operation, "ln": c.line, "val": c.value} for c in made]
        answer = self.call("note_save", id=note, local_version=version, text_patch=sent)
        self.same(answer, lambda: self.model.patch(note, version, made))

    @rule(note=notes, behind=VERSIONS, action=st.sampled_from(["trash", "untrash"]))
    def set_trash(self, note: str, behind: int, action: str) -> None:
        version, trash = self.version(note, behind), action == "trash"
        answer = self.call("note_manage", action=action, id=note, local_version=version)
        self.same(answer, lambda: self.model.set_trash(note, version, trash=trash))

    @rule(note=notes, behind=st.sampled_from([0, 0, 1]))
    def erase(self, note: str, behind: int) -> None:
        version = self.version(note, behind)
        sent = {"action": "delete_permanently", "id": note, "local_version": version}
        self.same(self.call("note_manage", **sent), lambda: self.model.erase(note, version))

    @rule(note=notes, behind=st.sampled_from([0, 0, 1]), older=VERSIONS)
    def restore(self, note: str, behind: int, older: int) -> None:
        local_version = self.version(note, behind)
        version = self.version(note, older)
        sent = {"id": note, "version": version, "local_version": local_version}
        answer = self.call("note_manage", action="restore", **sent)
        self.same(answer, lambda: self.model.restore(note, version, local_version))

    @rule(days=st.sampled_from([0.001, 1, 20]))
    def wait(self, days: float) -> None:
        self.clock.advance(days=days)
        self.database.write_sync(SYSTEM, purge_history, ERASED_RETENTION_SECONDS)
        self.model.purge()

    @rule(note=notes)
    def look_back(self, note: str) -> None:
        answer = self.call("note_manage", action="history", id=note)
        entry = self.model.entries.get(note)
        if entry is None:
            assert answer["error"]["code"] == "NOTE_NOT_FOUND"
            return
        kept = self.model.kept(entry)
        assert [v["local_version"] for v in answer["versions"]] == [v.number for v in kept[::-1]]
        for version in kept if entry.gone_at is None else []:
            shown = self.call("note_get", id=note, local_version=version.number)
            assert (shown["text"], tuple(shown["tags"])) == (version.text, version.tags)

    @rule(
        word=st.sampled_from(WORDS),
        tag=st.sampled_from(["", "WORK", "Ü"]),
        trash_s=st.integers(0, 1),
    )
    def search(self, word: str, tag: str, trash_s: int) -> None:
        tags = [tag] if tag else []
        answer = self.call("note_list", q=word, tags=tags, trash_s=trash_s, sort="modified")
        shown = [item["id"] for item in answer["items"]]
        assert shown == self.model.listed(word=word, tag=tag, trash=trash_s == 1)
        assert answer["total_items"] == len(shown)

    @invariant()
    def lists_are_the_models(self) -> None:
        items = self.call("note_list", trash_s=2, limit=100)["items"]
        for trash in (False, True):
            shown = [item["id"] for item in items if item["trash"] == trash]
            assert shown == self.model.listed(trash=trash)


def test_random_histories(database: Database, clock: Clock) -> None:
    run_histories(Histories, examples(10), 25, database=database, clock=clock)
