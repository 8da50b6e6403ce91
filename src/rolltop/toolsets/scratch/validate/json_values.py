"""Which kind of JSON value a value is, for the type checker as well; integers of any length."""

from __future__ import annotations

import math
import sys
from decimal import MAX_EMAX, Context, Decimal
from typing import Any, Final, TypeGuard

_MOST_DIGITS: Final = 4000  # Python refuses to write longer ones out
_MOST_BITS: Final = 13_000
_ROUNDED: Final = Context(prec=1000, Emax=MAX_EMAX)


def is_object(value: object) -> TypeGuard[dict[Any, Any]]:
    """Whether the value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    """Whether the value is an array."""
    return isinstance(value, list)


def integer(digits: str) -> int | Decimal:
    """Return an integer; one of more than 4,000 digits is rounded to the first 1,000."""
    return int(digits) if len(digits) <= _MOST_DIGITS else _ROUNDED.create_decimal(digits)


def finite(value: float) -> float:
    """Return the number; one beyond all that a float can be as the farthest of these."""
    return math.copysign(sys.float_info.max, value) if math.isinf(value) else value


def bounded(value: int) -> int | Decimal:
    """Return the integer, rounded as `integer` does."""
    return value if value.bit_length() <= _MOST_BITS else _ROUNDED.create_decimal(value)
