"""CSS by the tokens of CSS Syntax Level 3: what is left open, and what closes nothing.

Browsers skip everything else in a style sheet, by rule; it is no error here.
"""

from __future__ import annotations

import re
from typing import Final

from .results import SyntaxResult, locate_diagnostics

_TOKEN: Final = re.compile(
    r"""/\*(?:[^*]|\*(?!/))*(?P<comment>\*/)?
    |(?P<quote>["'])(?:\\(?:\r\n|.)|(?!(?P=quote))[^\\\n\r\f])*(?P<string>(?P=quote))?
    |(?P<link>(?i:url)\()[ \t\r\n\f]*(?!["'\s])(?:\\.|[^)\\])*(?P<linked>\))?
    |\\.
    |(?P<bracket>[(){}\[\]])""",
    re.DOTALL | re.VERBOSE,
)
_PARTNER: Final = {")": "(", "]": "[", "}": "{"}


def check(content: str, _language: str) -> SyntaxResult:
    """Find unclosed blocks, brackets, strings and comments, and brackets that close nothing."""
    faults: list[tuple[int, str, str]] = []
    opened: list[tuple[str, int]] = []
    for token in _TOKEN.finditer(content):
        bracket = token.group("bracket")
        if bracket is None:
            fault = _open_token(token)
            if fault is not None:
                faults.append((token.start(), *fault))
        elif bracket in "([{":
            opened.append((bracket, token.start()))
        else:
            faults += _close_bracket(bracket, token.start(), opened)
    faults += [(at, f"{bracket!r} is never closed", "CSS_UNCLOSED") for bracket, at in opened]
    return SyntaxResult(errors=locate_diagnostics(content, faults))


def _open_token(token: re.Match[str]) -> tuple[str, str] | None:
    if token.group().startswith("/*"):
        return None if token.group("comment") else ("Comment is never closed", "CSS_UNCLOSED")
    if token.group("quote"):
        return None if token.group("string") else ("String is never closed", "CSS_UNCLOSED")
    if token.group("link") and not token.group("linked"):
        return "'url(' is never closed", "CSS_UNCLOSED"
    return None


def _close_bracket(
    bracket: str, at: int, opened: list[tuple[str, int]]
) -> list[tuple[int, str, str]]:
    """Close the innermost partner; what stands open inside it was never closed."""
    partner = _PARTNER[bracket]
    # A brace ends any bracket left open inside its block; a bracket never ends a block.
    within = len(opened)
    while within and opened[within - 1][0] != partner:
        if bracket != "}" and opened[within - 1][0] == "{":
            within = 0
            break
        within -= 1
    if not within:
        return [(at, f"{bracket!r} closes nothing", "CSS_STRAY")]
    faults = [(start, f"{one!r} is never closed", "CSS_UNCLOSED") for one, start in opened[within:]]
    del opened[within - 1 :]
    return faults
