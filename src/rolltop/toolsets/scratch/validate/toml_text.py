"""TOML by the standard library's parser: its first error."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from .results import Diagnostic, Syntax, place

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the TOML text `content`."""
    del language
    try:
        tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        return Syntax(errors=[_diagnostic(str(error), content)])
    except RecursionError:
        return Syntax(errors=[Diagnostic("Nested too deeply to be read", "TOML_TOO_DEEP")])
    return Syntax()


def _diagnostic(message: str, content: str) -> Diagnostic:
    found = _PLACE.search(message)
    if found is None:
        return Diagnostic(message, "TOML_SYNTAX")
    line, column = place(content, len(content))
    if found.group(1):
        line, column = int(found.group(1)), int(found.group(2))
    return Diagnostic(message[: found.start()], "TOML_SYNTAX", line, column)
