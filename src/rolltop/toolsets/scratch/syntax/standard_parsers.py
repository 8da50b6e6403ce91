"""Python by the interpreter's own compiler, TOML by tomllib, and plain text."""

from __future__ import annotations

import ast
import platform
import re
import tomllib
import warnings
from typing import Final

from . import tree_sitter_check
from .results import MAX_DIAGNOSTICS, Diagnostic, SyntaxResult, position_at, position_of_line

# The compiler takes quadratic time over many functions, so that longer text is only parsed.
_MAX_COMPILED_LENGTH: Final = 1 << 18
_MAX_PARSED_LENGTH: Final = 1 << 20
_POSITION: Final = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_LONG_INTEGER: Final = re.compile(r"(?<![\w.\"'])[-+]?[0-9](?:_?[0-9]){4300}")


def check_python(content: str, language: str) -> SyntaxResult:
    """Compile Python without running it; beyond 1 MiB only parse it by a grammar."""
    if len(content) > _MAX_PARSED_LENGTH:
        return tree_sitter_check.check(content, language)
    found = SyntaxResult()
    flags = 0 if len(content) <= _MAX_COMPILED_LENGTH else ast.PyCF_ONLY_AST
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            compile(content.removeprefix("\ufeff"), "<cell>", "exec", flags, dont_inherit=True)
        except SyntaxError as error:
            found.errors.append(_python_diagnostic(error, content))
        except (RecursionError, MemoryError):
            found.errors.append(Diagnostic("Nested too deeply to be compiled", "PYTHON_TOO_DEEP"))
        except ValueError as error:
            found.errors.append(Diagnostic(str(error), "PYTHON_SYNTAX"))
    for warning in said[:MAX_DIAGNOSTICS]:
        found.warnings.append(
            Diagnostic(str(warning.message), "PYTHON_WARNING", warning.lineno or 1)
        )
    return found


def _python_diagnostic(error: SyntaxError, content: str) -> Diagnostic:
    line, column = max(error.lineno or 1, 1), max(error.offset or 1, 1)
    # A later version may take what this one does not.
    message = f"{error.msg} (Python {'.'.join(platform.python_version_tuple()[:2])})"
    return Diagnostic(message, "PYTHON_SYNTAX", *position_of_line(content, line, column))


def check_toml(content: str, _language: str) -> SyntaxResult:
    """Parse a TOML text up to its first error."""
    try:
        tomllib.loads(content.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        return SyntaxResult(errors=[_toml_diagnostic(str(error), content)])
    except RecursionError:
        return SyntaxResult(errors=[Diagnostic("Nested too deeply to be read", "TOML_TOO_DEEP")])
    except ValueError:  # Python's limit on the digits of an integer
        found = _LONG_INTEGER.search(content)
        at = position_at(content, found.start()) if found else (1, 1)
        return SyntaxResult(
            errors=[Diagnostic("An integer does not fit 64 bits", "TOML_SYNTAX", *at)]
        )
    return SyntaxResult()


def _toml_diagnostic(message: str, content: str) -> Diagnostic:
    found = _POSITION.search(message)
    if found is None:
        return Diagnostic(message, "TOML_SYNTAX")
    line, column = position_at(content, len(content))
    if found.group(1):
        line, column = int(found.group(1)), int(found.group(2))
    return Diagnostic(f"{message[: found.start()]} (TOML 1.0)", "TOML_SYNTAX", line, column)


def check_text(_content: str, language: str) -> SyntaxResult:
    """Say why a text is not checked."""
    if language == "txt":
        return SyntaxResult(unchecked="Plain text has no syntax that could be wrong")
    return SyntaxResult(unchecked=f"There is no check for {language}: it is kept as text")
