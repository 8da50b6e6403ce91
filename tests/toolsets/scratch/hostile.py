"""Input that was made to hurt."""

from __future__ import annotations

from typing import Any, Final

_LEVELS: Final = 40


def _doubling() -> dict[str, Any]:
    levels: dict[str, Any] = {"a0": {"type": "string"}}
    for n in range(1, _LEVELS):
        below = {"$ref": f"#/$defs/a{n - 1}"}
        levels[f"a{n}"] = {"anyOf": [below, below]}
    return {"$defs": levels, "$ref": f"#/$defs/a{_LEVELS - 1}"}


SLOW_SCHEMA: Final = _doubling()
"""A small, valid schema that takes ages to apply: each level is tried twice."""
