"""TOML by the standard library's parser: its first error."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from .results import Diagnostic, Syntax, place

_PLACE: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_INTEGER: Final = re.compile(r"(?<![\w.\"'])[-+]?[0-9](?:_?[0-9]){4300}")


def check(content: str, language: str) -> Syntax:
    """Return what is wrong with the TOML text `content`."""
    del language
    try:
        tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        return Syntax(errors=[_diagnostic(str(error), content)])
    except RecursionError:
        return Syntax(errors=[Diagnostic("Nested too deeply to be read", "TOML_TOO_DEEP")])
    except ValueError:  # Python's limit on the digits of an integer
        found = _LONG_INTEGER.search(content)
        at = place(content, found.start()) if found else (1, 1)
        return Syntax(errors=[Diagnostic("An integer does not fit 64 bits", "TOML_SYNTAX", *at)])
    return Syntax()


def _diagnostic(message: str, content: str) -> Diagnostic:
    found = _PLACE.search(message)
    if found is None:
        return Diagnostic(message, "TOML_SYNTAX")
    line, column = place(content, len(content))
    if found.group(1):
        line, column = int(found.group(1)), int(found.group(2))
    return Diagnostic(message[: found.start()], "TOML_SYNTAX", line, column)
