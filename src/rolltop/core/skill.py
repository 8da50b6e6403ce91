"""The skill that comes with the program: how an agent works with the desk, as hosts load it.

https://agentskills.io/specification says what such a file is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

NAME: Final = "rolltop"
FILE_NAME: Final = "SKILL.md"
TOOLS: Final = ("desk_resume", "desk_search", "desk_read")
"""The tools without which the skill says nothing."""


def read_skill() -> str:
    """Return the whole file."""
    return Path(__file__).with_name(FILE_NAME).read_bytes().decode()


def parse_frontmatter(text: str) -> dict[str, Any]:
    """Return what a skill says of itself before its text."""
    import yaml  # noqa: PLC0415  # only hosts that load skills ask

    return yaml.safe_load(text.split("---\n")[1])
