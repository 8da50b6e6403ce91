"""Which tools are offered, under which names, to whom."""

from __future__ import annotations

import pytest

from rolltop.core.dispatch import ToolRegistry, ToolSelection, UnknownTool
from rolltop.core.errors import InvalidConfig
from rolltop.core.principal import READ, Principal
from rolltop.toolsets import TOOLSETS
from tests.core.example_toolset import EXAMPLE

ME = Principal.for_user("me")
READER = Principal.for_user("me", permissions=frozenset({READ}))


def _names(selection: ToolSelection | None = None, scope: Principal = ME) -> list[str]:
    return [offer.name for offer in ToolRegistry([EXAMPLE], selection).list_tools(scope)]


def test_all_tools_are_listed_once_in_declared_order() -> None:
    assert _names() == ["say", "count", "recite", "fail", "stuck", "keep_things"]


def test_read_only_keeps_reading_tools_and_reading_actions() -> None:
    for names in (_names(ToolSelection(read_only=True)), _names(scope=READER)):
        assert names == ["say", "count", "recite", "stuck", "keep_things"]
    registry = ToolRegistry([EXAMPLE], ToolSelection(read_only=True, tools=("fail", "keep_things")))
    offers = registry.list_tools(ME)
    assert [offer.name for offer in offers] == ["keep_things"]
    assert offers[0].parameters.schema["properties"]["action"]["enum"] == ["list"]


def test_a_caller_who_may_not_write_cannot_find_a_writing_tool() -> None:
    registry = ToolRegistry([EXAMPLE])
    assert registry.find("fail", ME).name == "fail"
    for name in ("fail", "save_thing"):
        with pytest.raises(UnknownTool) as caught:
            registry.find(name, READER)
        assert f'"{name}" is not offered here' in caught.value.message


def test_seed_names_are_listed_instead_and_both_are_always_found() -> None:
    listed = _names(ToolSelection(use_aliases=True))
    assert listed == ["say", "count", "recite", "fail", "stuck", "list_things", "save_thing"]
    registry = ToolRegistry([EXAMPLE], ToolSelection(use_aliases=True))
    assert registry.find("keep_things", ME).tool is registry.find("save_thing", ME).tool
    offer = registry.find("save_thing", ME)
    assert set(offer.parameters.schema["properties"]) == {"name"}
    assert offer.title == "Save a thing"


def test_a_tool_that_is_left_with_reading_actions_says_that_it_reads() -> None:
    for selection in (
        ToolSelection(tools=("scratch_namespace_list",)),
        ToolSelection(exclude=("scratch_namespace_create", "scratch_namespace_rename")),
        ToolSelection(),
    ):
        offers = {offer.name: offer for offer in ToolRegistry(TOOLSETS, selection).all_tools}
        tool = offers["scratch_namespace"]
        left = tool.parameters.schema["properties"]["action"]["enum"]
        assert tool.is_read_only == (left == ["list"])
        assert offers["scratch_namespace_list"].is_read_only
        for name, offer in offers.items():
            if name.startswith("scratch_namespace_") and name != "scratch_namespace_list":
                assert not offer.is_read_only


def test_selection_narrows() -> None:
    assert _names(ToolSelection(tools=("say", "count"), exclude=("count",))) == ["say"]
    assert _names(ToolSelection(toolsets=())) == []
    for selection in (ToolSelection(tools=("say",)), ToolSelection(toolsets=())):
        with pytest.raises(UnknownTool, match="recite") as caught:
            ToolRegistry([EXAMPLE], selection).find("recite", ME)
        assert "is not offered here" in caught.value.message


def test_a_name_that_does_not_exist_stops_the_start_naming_the_nearest() -> None:
    with pytest.raises(InvalidConfig, match="did you mean recite"):
        ToolRegistry([EXAMPLE], ToolSelection(tools=("recit",)))
    with pytest.raises(InvalidConfig, match="toolsets"):
        ToolRegistry([EXAMPLE], ToolSelection(toolsets=("nope",)))


def test_an_unknown_tool_names_the_nearest() -> None:
    with pytest.raises(UnknownTool) as caught:
        ToolRegistry([EXAMPLE]).find("cuont", ME)
    assert caught.value.message == 'Unknown tool "cuont"; did you mean count?'
