"""Every tool shows where its answer is, and desk_read opens every address that any tool shows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import pytest

from rolltop.core.accounts import add_user
from rolltop.core.addresses import RECORD_KINDS, parse_address
from rolltop.core.db import SYSTEM, Database
from rolltop.core.dispatch import ToolSelection
from rolltop.core.principal import Principal
from rolltop.toolsets import TOOLSETS
from rolltop.workspace import Roots
from tests import witnesses
from tests.contracts.answer_shapes import output_schema
from tests.contracts.samples import SAMPLES, Stage, write_long_document
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rolltop.core.tools import Tool, Toolset

# They answer nothing that can be opened: names of tags and namespaces, and a number.
WITHOUT = {"scratch_list_tags", "scratch_namespace", "estimate_tokens"}
PAIRS = [(toolset, tool) for toolset in TOOLSETS for tool in toolset.tools]
ADDRESS = re.compile(r'"(rolltop://[^"\\]+)"')
DESK = next(toolset for toolset in TOOLSETS if toolset.name == "desk")
READ = next(tool for tool in DESK.tools if tool.name == "desk_read")
every_tool = pytest.mark.parametrize(
    ("toolset", "tool"), PAIRS, ids=[tool.name for _, tool in PAIRS]
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Return a desk with one of each thing, and another user's beside it."""
    store, folder = tmp_path_factory.mktemp("store"), tmp_path_factory.mktemp("docs")
    database = Database(f"sqlite:///{store / 'desk.db'}")
    database.open()
    me = Principal.for_user(database.write_sync(SYSTEM, add_user, "me@example.org").id)
    made = Stage(make_desk(database, roots=Roots.open({"docs": folder}, base=folder)), me, folder)
    write_long_document(folder / "huge.md")
    odd = folder / "größe & #1" / "käse 50%@home.md"
    odd.parent.mkdir()
    odd.write_text("# Storm masts\n\nwhich storm took masts? harbour\n", encoding="utf-8")
    for thing in (made.task, made.pad, made.note):
        thing()
    yield made
    database.close()


def addresses_of(answer: Any) -> list[str]:
    """Return every address in an answer, in order, each once."""
    return list(dict.fromkeys(ADDRESS.findall(answer.text)))


@every_tool
def test_every_answer_has_addresses_and_each_is_opened(
    stage: Stage, toolset: Toolset, tool: Tool
) -> None:
    del toolset
    answer = call_tool(stage.desk, stage.scope, tool.name, **SAMPLES[tool.name](stage))
    assert not answer.is_error, answer.text
    found = addresses_of(answer)
    assert bool(found) == (tool.name not in WITHOUT), answer.text
    assert '"uri":' in answer.text or not found or tool.name == "desk_undo"
    for uri in found:
        opened = call_tool(stage.desk, stage.scope, "desk_read", uri=uri)
        assert not opened.is_error, (uri, opened.text)
        witnesses.validate(opened.structured, output_schema(DESK, READ))
        assert parse_address(opened.structured["uri"]).kind == parse_address(uri).kind
        again = call_tool(stage.desk, stage.scope, "desk_read", uri=opened.structured["uri"])
        assert not again.is_error, (opened.structured["uri"], again.text)


@every_tool
def test_nobody_opens_anothers_address(stage: Stage, toolset: Toolset, tool: Tool) -> None:
    if not toolset.needs_store:
        return
    created = stage.desk.database.write_sync(SYSTEM, add_user, f"{tool.name}@example.org")
    other = Principal.for_user(created.id)
    answer = call_tool(stage.desk, stage.scope, tool.name, **SAMPLES[tool.name](stage))
    records = [one for one in addresses_of(answer) if parse_address(one).kind in RECORD_KINDS]
    for uri in records:  # files are the roots', whoever reads them
        opened = call_tool(stage.desk, other, "desk_read", uri=uri)
        assert opened.code == "NOT_FOUND", opened.text


def test_under_the_seeds_names_only_the_desk_shows_addresses(stage: Stage) -> None:
    seeds = make_desk(
        stage.desk.database,
        roots=stage.desk.roots,
        settings={"names": "seed"},
        selection=ToolSelection(use_aliases=True),
    )
    for _toolset, tool in PAIRS:
        arguments = SAMPLES[tool.name](stage)
        answer = call_tool(seeds, stage.scope, tool.name, **arguments)
        assert not answer.is_error, answer.text
        assert bool(addresses_of(answer)) == tool.name.startswith("desk_"), answer.text


def test_an_acknowledgement_is_longer_by_no_more_than_its_address(stage: Stage) -> None:
    task = stage.call("add_task", title="Write it down")["data"]
    note = stage.call("note_save", text="x")
    pad = stage.call("scratch_create", cells=[])["scratchpad"]
    for shown in (task, note, pad):
        fields = cast("dict[str, Any]", shown)
        assert len([name for name in fields if name == "uri"]) == 1
        assert re.fullmatch(r"rolltop://[a-z]+/[0-9a-f]{8}", fields["uri"])
