"""The skill says what is so, in the form that hosts load."""

from __future__ import annotations

import re

from rolltop.core import skill
from rolltop.toolsets import TOOLSETS

TEXT = skill.read_skill()
NAMES = {tool.name for toolset in TOOLSETS for tool in toolset.tools}
PARAMETERS = {
    "blocked_by", "comment", "dry_run", "tasks", "text_patch", "uri", "validate", "next",
}  # fmt: skip


def test_it_is_a_skill_as_the_specification_has_it() -> None:
    described = skill.parse_frontmatter(TEXT)
    assert described["name"] == skill.NAME
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", skill.NAME)
    assert 1 <= len(described["description"]) <= 1024
    assert len(TEXT.splitlines()) <= 60


def test_it_names_only_what_there_is() -> None:
    named = set(re.findall(r"`([a-z_]+)`", TEXT))
    assert set(skill.TOOLS) <= named
    assert named - NAMES - PARAMETERS == {"note", "pad", "cell", "file", "section"}
