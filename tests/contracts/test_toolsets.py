"""TOOLSETS is the only list, and it is the list of the folders on disk."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from rolltop.toolsets import TOOLSETS
from tests.contracts.sources import toolset_names

if TYPE_CHECKING:
    from rolltop.core.tools import Toolset

CODE = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")


def test_toolsets_are_the_folders_on_disk() -> None:
    assert sorted(toolset.name for toolset in TOOLSETS) == toolset_names()


def test_tool_names_are_unique_canonical_and_seed_names_together() -> None:
    names = Counter(
        name
        for toolset in TOOLSETS
        for tool in toolset.tools
        for name in [tool.name, *(seed.name for seed in tool.other_aliases)]
    )
    assert [name for name, times in names.items() if times > 1] == []


@pytest.mark.parametrize("toolset", TOOLSETS, ids=[toolset.name for toolset in TOOLSETS])
class TestToolset:
    """What every toolset's declaration holds."""

    def test_every_tool_has_a_title_and_a_short_description(self, toolset: Toolset) -> None:
        for tool in toolset.tools:
            assert tool.title, tool.name
            assert 0 < len(tool.description) <= 1000, (tool.name, len(tool.description))

    def test_the_service_is_a_module_of_the_toolset(self, toolset: Toolset) -> None:
        assert f"{toolset.service}.".startswith((f"rolltop.toolsets.{toolset.name}.", "."))

    def test_every_code_is_upper_case_and_explained(self, toolset: Toolset) -> None:
        for code, explanation in toolset.error_codes.items():
            assert CODE.fullmatch(code), code
            assert explanation.strip(), code

    def test_the_codes_every_toolset_answers_are_listed(self, toolset: Toolset) -> None:
        always = {"TIMEOUT", "UNAVAILABLE", "INTERNAL_ERROR", toolset.argument_code}
        assert always <= set(toolset.error_codes)
