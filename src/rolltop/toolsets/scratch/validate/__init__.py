"""Validation of cells: real parsers for every language, JSON Schema, limits that hold."""

from __future__ import annotations

from .languages import LANGUAGES
from .results import Cell, Checked, Diagnostic, Timeout
from .schema_check import check_schema
from .validator import Validator
from .version import VERSION

__all__ = [
    "LANGUAGES",
    "VERSION",
    "Cell",
    "Checked",
    "Diagnostic",
    "Timeout",
    "Validator",
    "check_schema",
]
