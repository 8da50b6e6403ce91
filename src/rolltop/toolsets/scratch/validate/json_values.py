"""Which kind of JSON value a value is, for the type checker as well."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is an array."""
    return isinstance(value, list)
