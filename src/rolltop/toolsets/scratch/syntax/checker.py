"""One cell, checked in this process: its syntax, then its schema; the program of a worker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.worker_process import is_asked

from .results import (
    SCHEMAS_ALONE,
    CheckRequest,
    CheckResult,
    Diagnostic,
    SyntaxResult,
    position_at,
    schema_not_applied,
    unchecked_details,
    unreadable_result,
)

# The function that checks each language.
CHECKS: Final[dict[str, str]] = {
    "py": "standard_parsers.check_python",
    **dict.fromkeys(("js", "ts", "tsx", "jsx"), "external_programs.check_script"),
    "rs": "tree_sitter_check.check",
    **dict.fromkeys(("c", "h", "cpp", "hpp", "cs"), "c_preprocessor.check"),
    "sh": "external_programs.check_shell",
    "css": "css.check",
    **dict.fromkeys(("html", "htm"), "html.check"),
    "java": "tree_sitter_check.check",
    "go": "external_programs.check_go",
    "rb": "tree_sitter_check.check",
    "toml": "standard_parsers.check_toml",
    "php": "tree_sitter_check.check",
    "json": "json_text.check",
    **dict.fromkeys(("yaml", "yml"), "yaml_text.check"),
    "md": "markdown.check",
    "txt": "standard_parsers.check_text",
}
LANGUAGES: Final[tuple[str, ...]] = tuple(CHECKS)
# What people and models call them besides; compared without regard to case.
OTHER_NAMES: Final[dict[str, tuple[str, ...]]] = {
    "py": ("python", "python3", "py3", "pyi", "text/x-python"),
    "js": ("javascript", "mjs", "cjs", "text/javascript"),
    "ts": ("typescript", "mts", "cts"),
    "tsx": ("typescriptreact",),
    "jsx": ("javascriptreact",),
    "rs": ("rust",),
    "cpp": ("c++", "cc", "cxx", "cplusplus"),
    "hpp": ("h++", "hh", "hxx"),
    "sh": ("bash", "shell", "zsh", "ksh", "shellscript", "shell-script"),
    "css": ("text/css",),
    "html": ("html5", "text/html"),
    "go": ("golang",),
    "rb": ("ruby",),
    "cs": ("c#", "csharp"),
    "json": ("application/json",),
    "yaml": ("application/yaml", "text/yaml"),
    "toml": ("application/toml",),
    "md": ("markdown", "mkd", "mdown", "commonmark", "gfm", "text/markdown"),
    "txt": ("text", "plain", "plaintext", "plain text", "text/plain"),
}
CANONICAL_NAMES: Final = {
    name: language for language in LANGUAGES for name in (language, *OTHER_NAMES.get(language, ()))
}
# Imported while nothing is asked, most used first.
_PRELOADED: Final = (
    ".json_text", ".schema", ".standard_parsers", ".external_programs", "tree_sitter_python",
    ".yaml_text", ".markdown", ".html", ".css",
)  # fmt: skip
# Prose may hold anything; code never holds these.
_NEVER_IN_CODE: Final = re.compile("[\x00\ud800-\udfff]")
_CODE_LANGUAGES: Final = frozenset(LANGUAGES) - {"md", "txt"}
# What a valid cell's grammar leaves to the compiler; one line of the warning.
_GRAMMAR_LIMITS: Final = {
    "c": "macros, declarations that need their types known",
    "h": "macros, declarations that need their types known",
    "cpp": "macros, templates, declarations that need their types known",
    "hpp": "macros, templates, declarations that need their types known",
    "rs": "the bodies of macros",
    "py": "names, and what only the compiler refuses",
}
_MISSING_PROGRAMS: Final = {"go": "gofmt", "sh": "shfmt"}


def check_cell(cell: CheckRequest) -> CheckResult:
    """Check a cell; raises nothing for any content."""
    if cell.language == SCHEMAS_ALONE:
        return _judge_schemas(cell.schema)
    found = _find_forbidden_character(cell) or _check_syntax(cell)
    errors, warnings = list(found.errors), list(found.warnings)
    details: dict[str, Any] = {
        "syntax": {
            "checked": not found.unchecked,
            "passed": not found.errors,
            "by": "none" if found.unchecked else found.by,
        }
    }
    if found.by == "grammar":
        warnings.append(_grammar_only(cell.language))
    if found.unchecked:
        details["syntax"]["reason"] = found.unchecked
    details["schema"] = schema_not_applied(cell.schema_name)
    if cell.schema is not None and not errors:
        warnings += found.remarks
    if cell.schema is not None and not errors and found.documents:
        schema = import_module(f"{__package__}.schema")
        violations, remarks, details["schema"] = schema.apply(
            found.documents, cell.schema, cell.schema_name, cell.registry
        )
        errors += violations
        warnings += remarks
    details["analysis"] = found.analysis
    return CheckResult(not errors, tuple(errors), tuple(warnings), details)


def _judge_schemas(schemas: Iterable[Any]) -> CheckResult:
    """Return the first reason why one is no JSON Schema, if any."""
    check_schema = import_module(f"{__package__}.schema_check").check_schema
    errors: tuple[Diagnostic, ...] = ()
    try:
        for one in schemas:
            check_schema(one)
    except RolltopError as refused:
        details = {"hint": refused.hint, **refused.data}
        errors = (Diagnostic(refused.message, refused.code, details=details),)
    return CheckResult(not errors, errors, (), unchecked_details())


def _grammar_only(language: str) -> Diagnostic:
    message = (
        "Checked by a grammar, which takes some text that the compiler does not, and may lack rare"
        " or new syntax"
    )
    if language in _GRAMMAR_LIMITS:
        message += f": {_GRAMMAR_LIMITS[language]}"
    if language in _MISSING_PROGRAMS:
        message += f"; {_MISSING_PROGRAMS[language]} of rolltop[checkers] checks it fully"
    return Diagnostic(message, "GRAMMAR_ONLY")


def _find_forbidden_character(cell: CheckRequest) -> SyntaxResult | None:
    if cell.language not in _CODE_LANGUAGES:
        return None
    found = _NEVER_IN_CODE.search(cell.content)
    if found is None:
        return None
    message = f"Character U+{ord(found.group()):04X} is not allowed"
    at = position_at(cell.content, found.start())
    return SyntaxResult(errors=[Diagnostic(message, "INVALID_CHARACTER", *at)])


def _check_syntax(cell: CheckRequest) -> SyntaxResult:
    module, function = CHECKS.get(cell.language, CHECKS["txt"]).split(".")
    try:
        check = getattr(import_module(f"{__package__}.{module}"), function)
        return check(cell.content, cell.language)
    except RecursionError:
        return SyntaxResult(errors=[Diagnostic("Nested too deeply to be read", "TOO_DEEP")])
    except MemoryError:
        message = "Reading this takes more memory than a check may use"
        return SyntaxResult(errors=[Diagnostic(message, "TOO_LARGE")])


def checker() -> Callable[[CheckRequest], CheckResult]:
    """Build the function that checks a cell, for a worker process."""
    for name in _PRELOADED:
        if is_asked():
            break
        import_module(name, __package__)
    return _check


def _check(cell: CheckRequest) -> CheckResult:
    try:
        return check_cell(cell)
    except (MemoryError, RecursionError):
        message = "Checking this takes more memory than a check may use"
        return unreadable_result(cell, message, "TOO_LARGE")
