"""Plain text: nothing to check."""

from __future__ import annotations

from .results import Syntax


def check(content: str, language: str) -> Syntax:
    """Return why nothing was checked."""
    del content, language
    return Syntax(unchecked="Plain text has no syntax that could be wrong")
