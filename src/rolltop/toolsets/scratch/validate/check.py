"""One cell, checked in this process: its syntax, then its schema."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .languages import MODULES
from .results import Checked, Diagnostic, Syntax, not_performed, place

if TYPE_CHECKING:
    from .results import Cell

# Prose may hold anything; code never holds these.
_NEVER_IN_CODE: Final = re.compile("[\x00\ud800-\udfff]")
_PROSE: Final = frozenset({"md", "txt"})


def check(cell: Cell) -> Checked:
    """Return what is right and wrong about the cell; raises nothing for any content."""
    found = _refused(cell) or _syntax(cell)
    errors, warnings = list(found.errors), list(found.warnings)
    details: dict[str, Any] = {
        "syntax": {"checked": not found.unchecked, "passed": not found.errors}
    }
    if found.unchecked:
        details["syntax"]["reason"] = found.unchecked
    details["schema"] = not_performed(cell.schema_name)
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
    return Checked(not errors, tuple(errors), tuple(warnings), details)


def _refused(cell: Cell) -> Syntax | None:
    if cell.language in _PROSE:
        return None
    found = _NEVER_IN_CODE.search(cell.content)
    if found is None:
        return None
    message = f"Character U+{ord(found.group()):04X} is not allowed"
    at = place(cell.content, found.start())
    return Syntax(errors=[Diagnostic(message, "INVALID_CHARACTER", *at)])


def _syntax(cell: Cell) -> Syntax:
    module = import_module(f"{__package__}.{MODULES[cell.language]}")
    try:
        return module.check(cell.content, cell.language)
    except RecursionError:
        return Syntax(errors=[Diagnostic("Nested too deeply to be read", "TOO_DEEP")])
    except MemoryError:
        message = "Reading this takes more memory than a check may use"
        return Syntax(errors=[Diagnostic(message, "TOO_LARGE")])
