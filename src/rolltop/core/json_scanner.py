"""JSON from strangers: limits checked as it arrives, then parsed without holding up other threads.

`json.loads` holds the interpreter's lock from the first byte to the last: 32 MiB of `[],[],…` took
seconds and gigabytes. Here strings are separated from the rest while a body arrives, which is
enough to count values and depth, and they are decoded later, one slice after the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any, Final, NoReturn, cast

MAX_DEPTH: Final = 100
MAX_VALUES: Final = 50_000
MAX_QUOTES: Final = 4 * MAX_VALUES
"""Those of as many members, whose names and values are strings."""
MAX_DIGITS: Final = 4300
"""What Python reads of a whole number; longer ones take quadratic time."""
STRING_SLICE: Final = 1 << 16
_SPACES: Final = b" \t\r\n"
_SPACE: Final = re.compile(rb"[ \t\r\n]+")
_NUMBERS_ONLY: Final = bytes(byte if byte in b"+-.0123456789eE" else 32 for byte in range(256))
_DEPTH_CHANGES: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS: Final = bytes(set(range(256)) - set(_DEPTH_CHANGES))
_MAX_ESCAPE_BYTES: Final = 6
_MAX_CHARACTER_BYTES: Final = 4
_LAST_ASCII: Final = 0x7F
_CONTINUATION_BYTES: Final = range(0x80, 0xC0)
_HIGH_HALF: Final = re.compile(rb"\\u[dD][89abAB]..")


class LimitExceeded(ValueError):
    """The JSON is larger than anything this server needs to read."""


class InvalidNumber(ValueError):
    """A number JSON does not have, or none that a double or Python holds."""


class JsonScanner:
    """Takes JSON in chunks, checks it against the limits, and parses it when it is complete."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._backslash = b""  # of an escape whose other half has not come
        self._last = b""
        self._quotes = 0
        self._depth = 0
        self._values = 1
        self._strings: list[bytes] = []
        self._errors = "strict"

    def feed(self, chunk: bytes) -> None:
        """Read on.

        Raises LimitExceeded: there are more values, deeper ones or longer numbers than allowed.
        """
        data = self._backslash + chunk
        cut = len(data) - (len(data) - len(data.rstrip(b"\\"))) % 2
        data, self._backslash = data[:cut], data[cut:]
        self._chunks.append(data)
        parts = _split(data)
        outside = b'"'.join(parts[self._quotes % 2 :: 2])
        starts_within = b'"' * (self._quotes % 2)
        self._quotes += len(parts) - 1
        outside = starts_within + outside + b'"' * (self._quotes % 2)
        self._count(outside.translate(None, _SPACES))

    def parse(self, *, lenient: bool = False) -> Any:  # noqa: ANN401  # any JSON value
        """Return the value. What was read is let go.

        `lenient` takes what `json` takes and JSON doesn't have: NaN, infinity, lone surrogates.
        Raises ValueError: this is not JSON in UTF-8, or a number in it is out of range.
        """
        if self._quotes % 2 or self._backslash:
            raise json.JSONDecodeError("Unterminated string", "", 0)
        text = self._without_strings().decode("utf-8-sig")
        if lenient:
            self._errors = "surrogatepass"
        try:
            read = json.loads if lenient else loads
            return self._fill(read(text, parse_int=_whole_number))
        except json.JSONDecodeError as failure:  # its place is none in what was sent
            raise json.JSONDecodeError(failure.msg, "", 0) from None

    def _count(self, outside: bytes) -> None:
        steps = [_DEPTH_CHANGES[bracket] for bracket in outside.translate(None, _NO_BRACKETS)]
        if steps and max(accumulate(steps, initial=self._depth)) > MAX_DEPTH:
            raise LimitExceeded(f"nested more than {MAX_DEPTH} deep")
        self._depth += sum(steps)
        seen = self._last + outside
        empty = seen.count(b"[]") + seen.count(b"{}")
        self._values += outside.count(b",") + steps.count(1) - empty
        self._last = seen[-1:]
        if self._values > MAX_VALUES or self._quotes > MAX_QUOTES:
            raise LimitExceeded(f"more than {MAX_VALUES} values")
        if max(map(len, outside.translate(_NUMBERS_ONLY).split()), default=0) > MAX_DIGITS:
            raise LimitExceeded(f"a number of more than {MAX_DIGITS} digits")

    def _without_strings(self) -> bytes:
        """Return the JSON with each string put aside and its number in its place."""
        outside: list[bytes] = []
        opened: list[bytes] | None = None
        chunks, self._chunks = self._chunks, []
        for data in chunks:
            start = 0
            for part in _split(data):
                if start and opened is None:
                    opened = []
                elif start and opened is not None:
                    outside.append(b'"%d"' % len(self._strings))
                    self._strings.append(b"".join(opened))
                    opened = None
                piece = data[start : start + len(part)]
                start += len(part) + 1
                if opened is None:
                    outside.append(_SPACE.sub(b" ", piece))
                else:
                    opened.append(piece)
        return b"".join(outside)

    def _fill(self, value: Any) -> Any:  # noqa: ANN401  # any JSON value
        """Return the value with each string in the place of its number."""
        if isinstance(value, str):
            return _decode(self._strings[int(value)], self._errors)
        if isinstance(value, list):
            return [self._fill(entry) for entry in cast("list[Any]", value)]
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value).items()
            return {self._fill(name): self._fill(entry) for name, entry in members}
        return value


def _split(data: bytes) -> list[bytes]:
    """Return parts as long as those between the quotes of strings, which are not escaped."""
    if b"\\" in data:
        data = data.replace(rb"\\", b"..").replace(rb"\"", b"..")
    return data.split(b'"')


def loads(text: str, parse_int: Callable[[str], int] = int) -> Any:  # noqa: ANN401  # any JSON value
    """Return the value of a JSON text.

    Raises:
        ValueError: it is none.
        RecursionError: it is nested too deeply.

    """
    return json.loads(
        text, parse_constant=_reject_constant, parse_float=_finite, parse_int=parse_int
    )


def _whole_number(digits: str) -> int:
    """Return a number. It is read by a call of its own: between two calls other threads may run."""
    return int(digits)


def _finite(text: str) -> float:
    number = float(text)
    if number in {float("inf"), float("-inf")}:
        raise InvalidNumber("a number is out of range")
    return number


def _reject_constant(name: str) -> NoReturn:
    raise InvalidNumber(f"{name} is not a JSON number")


def _decode(raw: bytes, errors: str) -> str:
    if len(raw) <= STRING_SLICE:
        return json.loads(f'"{raw.decode(errors=errors)}"')
    return "".join(json.loads(f'"{part.decode(errors=errors)}"') for part in _slices(raw))


def _slices(raw: bytes) -> Iterator[bytes]:
    """Return a string in parts, none of which ends within a character or an escape."""
    start = 0
    while start < len(raw):
        part = raw[start : start + STRING_SLICE]
        if start + len(part) < len(raw):
            part = part[: _whole_length(part)]
        yield part
        start += len(part)


def _whole_length(part: bytes) -> int:
    """Return the length of a part of a string without a broken escape or character at its end."""
    end = len(part)
    escapes = part.replace(rb"\\", b"..")
    last = escapes.rfind(b"\\", end - _MAX_ESCAPE_BYTES)
    if last < 0:
        while part[end - 1] in _CONTINUATION_BYTES and len(part) - end < _MAX_CHARACTER_BYTES:
            end -= 1
        return end - 1 if part[end - 1] > _LAST_ASCII else end
    # The two halves of a surrogate pair make one character.
    before = last - _MAX_ESCAPE_BYTES
    return before if _HIGH_HALF.match(escapes, before, last) else last
