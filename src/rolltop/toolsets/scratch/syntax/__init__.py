"""Validation of cells: real parsers for every language, JSON Schema, limits that hold."""

from __future__ import annotations

from .checker import CANONICAL_NAMES, LANGUAGES, OTHER_NAMES
from .results import CheckRequest, CheckResult, CheckTimeout, Diagnostic
from .schema_check import check_schema
from .validator import VERSION, Validator

__all__ = [
    "CANONICAL_NAMES",
    "LANGUAGES",
    "OTHER_NAMES",
    "VERSION",
    "CheckRequest",
    "CheckResult",
    "CheckTimeout",
    "Diagnostic",
    "Validator",
    "check_schema",
]
