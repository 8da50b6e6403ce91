"""Input that was made to hurt."""

from __future__ import annotations

from typing import Any, Final

_LEVELS: Final = 40

SLOW_SCHEMA: Final[dict[str, Any]] = {
    "$ref": "#/$defs/0",
    "$defs": {
        **{
            str(level): {"anyOf": [{"$ref": f"#/$defs/{level + 1}"}] * 2}
            for level in range(_LEVELS)
        },
        str(_LEVELS): {"type": "string"},
    },
}
"""A small, valid schema that takes ages to apply: each level doubles the work."""
