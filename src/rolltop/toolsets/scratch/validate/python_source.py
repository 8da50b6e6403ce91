"""Python by the interpreter's own compiler; beyond 1 MiB by a grammar, which is much cheaper."""

from __future__ import annotations

import ast
import warnings
from typing import Final

from . import grammar
from .results import MOST_DIAGNOSTICS, Diagnostic, Syntax, place_of_line

# The compiler takes quadratic time over many functions, so that longer text is only parsed.
_LONGEST_COMPILED: Final = 1 << 18
_LONGEST_PARSED: Final = 1 << 20


def check(content: str, language: str) -> Syntax:
    """Return what the compiler says of `content`; nothing of it is run."""
    if len(content) > _LONGEST_PARSED:
        return grammar.check(content, language)
    found = Syntax()
    flags = 0 if len(content) <= _LONGEST_COMPILED else ast.PyCF_ONLY_AST
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            compile(content, "<cell>", "exec", flags, dont_inherit=True)
        except SyntaxError as error:
            found.errors.append(_diagnostic(error, content))
        except (RecursionError, MemoryError):
            found.errors.append(Diagnostic("Nested too deeply to be compiled", "PYTHON_TOO_DEEP"))
        except ValueError as error:
            found.errors.append(Diagnostic(str(error), "PYTHON_SYNTAX"))
    for warning in said[:MOST_DIAGNOSTICS]:
        found.warnings.append(
            Diagnostic(str(warning.message), "PYTHON_WARNING", warning.lineno or 1)
        )
    return found


def _diagnostic(error: SyntaxError, content: str) -> Diagnostic:
    line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
    return Diagnostic(error.msg, "PYTHON_SYNTAX", *place_of_line(content, line, column))
