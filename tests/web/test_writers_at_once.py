"""Two agents and a person change one thing at once: what each sees, and what is kept.

The agents are clients of two server processes over stdio, the person is at the page of a third: all
on one store.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.server.processes import StdioServer, handshake

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.web.visitor import Form, Page, Visitor

AGENTS: Final = ("claude-code", "codex")
PERSON: Final = "page"
BASE: Final = "The beginning."
Outcome = tuple[bool, str]
"""Whether a write was acknowledged, and what its answer showed."""


@dataclass(frozen=True)
class Thing:
    """One note, cell or task: how agents read and write its text, and where people do."""

    uri: str
    path: str
    field: str
    reads: tuple[str, dict[str, Any]]
    parse: Callable[[Any], tuple[str, int]]
    writes: Callable[[str, int], tuple[str, dict[str, Any]]]


class Agent:
    """A client over stdio with a server process of its own."""

    def __init__(self, name: str, server: StdioServer) -> None:
        self.name, self._server = name, server
        info = {"name": name, "version": "1"}
        server.request("initialize", {**handshake(), "clientInfo": info})
        server.send("notifications/initialized")
        self._version = 0
        self.text = ""

    def read(self, thing: Thing) -> None:
        """Read the thing, and add a line to it in mind."""
        tool, arguments = thing.reads
        text, self._version = thing.parse(self.call(tool, **arguments))
        self.text = f"{text}\n{self.name} was here."

    def begin(self, thing: Thing) -> None:
        """Send what was made of it, without waiting for the answer."""
        tool, arguments = thing.writes(self.text, self._version)
        self._server.send("tools/call", {"name": tool, "arguments": arguments}, id=self.name)

    def end(self, _thing: Thing) -> Outcome:
        """Return what became of it."""
        answer = self._server.answer()
        assert answer["id"] == self.name
        result = answer["result"]
        text = result["content"][0]["text"]
        assert not result.get("isError") or "CONFLICT" in text, text
        return not result.get("isError"), text

    def call(self, tool: str, **arguments: Any) -> Any:
        """Return what a call that must succeed answers."""
        result = self._server.call(tool, **arguments)
        assert not result.get("isError"), result
        return result["structuredContent"]


class Person:
    """Somebody at the page, with its forms."""

    name = PERSON

    def __init__(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self._form: Form | None = None
        self.text = ""

    def read(self, thing: Thing) -> None:
        """Open the form, and add a line to its text."""
        self._form = self._find(self._visitor.get(thing.path), thing)
        self.text = f"{self._form.fields[thing.field]}\n{self.name} was here."

    def begin(self, _thing: Thing) -> None:
        """Do nothing yet: a form is sent and answered at once."""

    def end(self, thing: Thing) -> Outcome:
        """Send the form; return whether it was taken. What was typed is still there if not."""
        assert self._form is not None
        changed = {thing.field: self.text, "action": "save"}
        page = self._visitor.submit(self._form, None, **changed)
        assert page.status in {200, 409}, page.text
        if page.status == 409:
            assert self._find(page, thing).fields[thing.field] == self.text
        return page.status == 200, page.text

    @staticmethod
    def _find(page: Page, thing: Thing) -> Form:
        """Return the form that changes the thing."""
        forms = [form for form in page.forms if thing.field in form.fields]
        return next(form for form in forms if form.action.partition("?")[0] == thing.path)


@pytest.fixture
def person(ann: Visitor) -> Person:
    return Person(ann)


@pytest.fixture
def agents(person: Person, tmp_path: Path) -> Iterator[list[Agent]]:
    """The two agents."""
    assert person  # so the store is there, and nobody migrates it twice
    with StdioServer(tmp_path) as one, StdioServer(tmp_path) as other:
        yield [Agent(name, server) for name, server in zip(AGENTS, (one, other), strict=True)]


def new_note(agent: Agent) -> Thing:
    saved = agent.call("note_save", text=BASE)
    note_id = saved["id"]
    return Thing(
        saved["uri"],
        f"/notes/{note_id}/edit",
        "text",
        ("note_get", {"id": note_id}),
        lambda note: (note["text"], note["local_version"]),
        lambda text, version: (
            "note_save",
            {"id": note_id, "text": text, "local_version": version},
        ),
    )


def new_cell(agent: Agent) -> Thing:
    cell = {"language": "md", "content": BASE}
    pad = agent.call("scratch_create", metadata={"title": "Shared"}, cells=[cell])["scratchpad"]
    made = {"scratch_id": pad["scratch_id"], "cell_id": pad["cells"][0]["cell_id"]}
    return Thing(
        pad["cells"][0]["uri"],
        f"/pads/{made['scratch_id']}/cells/{made['cell_id']}",
        "content",
        ("scratch_read", {"scratch_id": made["scratch_id"]}),
        lambda read: (
            read["scratchpad"]["cells"][0]["content"],
            read["scratchpad"]["cells"][0]["version"],
        ),
        lambda text, version: (
            "scratch_replace_cell",
            {**made, "cell": {**cell, "content": text}, "if_version": version},
        ),
    )


def new_task(agent: Agent) -> Thing:
    task = agent.call("add_task", title="Shared", description=BASE)["data"]
    task_id = task["task_id"]
    return Thing(
        task["uri"],
        f"/tasks/{task_id}",
        "description",
        ("get_task", {"task_id": task_id}),
        lambda read: (read["data"]["description"], read["data"]["version"]),
        lambda text, version: (
            "update_task",
            {"task_id": task_id, "description": text, "if_version": version},
        ),
    )


@pytest.mark.parametrize("make", [new_note, new_cell, new_task])
def test_of_three_writers_one_is_first_and_the_others_see_what_is_there(
    agents: list[Agent], person: Person, make: Callable[[Agent], Thing]
) -> None:
    thing = make(agents[0])
    waiting: list[Agent | Person] = [*agents, person]
    written: list[str] = []
    while waiting:
        for writer in waiting:
            writer.read(thing)  # all of them what is there now, before anyone writes
        for writer in waiting:
            writer.begin(thing)
        outcomes = {writer.name: writer.end(thing) for writer in reversed(waiting)}
        (first,) = (name for name, (is_kept, _) in outcomes.items() if is_kept)
        written.append(first)
        for name, (_, shown) in outcomes.items():
            if name != first and (make is not new_cell or name == PERSON):
                assert f"{first} was here." in shown, (name, shown)
        waiting = [writer for writer in waiting if writer.name != first]
    text, _ = thing.parse(agents[0].call(thing.reads[0], **thing.reads[1]))
    assert text == BASE + "".join(f"\n{name} was here." for name in written)
    changes = agents[0].call("desk_history", uri=thing.uri.partition("@")[0])["changes"]
    assert [change["by"].partition(" (")[0] for change in changes] == [*written[::-1], AGENTS[0]]


def test_cells_that_three_writers_add_at_once_are_all_kept(
    agents: list[Agent], person: Person, ann: Visitor
) -> None:
    pad = agents[0].call("scratch_create", metadata={"title": "Shared"})["scratchpad"]
    pad_id = pad["scratch_id"]
    path = f"/pads/{pad_id}/new"
    adding = Thing(
        pad["uri"],
        path,
        "content",
        ("scratch_list", {}),
        lambda _: ("", 0),
        lambda text, _: (
            "scratch_append_cell",
            {"scratch_id": pad_id, "cell": {"language": "md", "content": text}},
        ),
    )
    writers: list[Agent | Person] = [*agents, person]
    for writer in writers:
        writer.read(adding)
        writer.begin(adding)
    assert all(writer.end(adding)[0] for writer in reversed(writers))
    cells = agents[1].call("scratch_read", scratch_id=pad_id)["scratchpad"]["cells"]
    names = [*AGENTS, PERSON]
    assert sorted(cell["content"] for cell in cells) == [f"\n{name} was here." for name in names]
    shown = ann.get(f"/pads/{pad_id}").text
    assert all(f"{name} was here." in shown for name in names)
