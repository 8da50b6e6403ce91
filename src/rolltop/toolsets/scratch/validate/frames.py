"""Messages between the server and its checking processes: length, JSON, and the text as bytes."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from .results import Cell, Checked, Diagnostic

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTHS: Final = struct.Struct(">II")


def request(cell: Cell, seconds: float) -> bytes:
    """Return a request to check `cell`, to be given up on after `seconds`."""
    head = {
        "language": cell.language,
        "schema": cell.schema,
        "schema_name": cell.schema_name,
        "registry": dict(cell.registry) if cell.schema is not None else {},
        "seconds": seconds,
    }
    return frame(head, cell.content.encode("utf-8", "surrogatepass"))


def cell_of(head: dict[str, Any], content: bytes) -> Cell:
    """Return the cell of a request."""
    return Cell(
        head["language"],
        content.decode("utf-8", "surrogatepass"),
        head["schema"],
        head["schema_name"],
        head["registry"],
    )


def frame(head: dict[str, Any], content: bytes = b"") -> bytes:
    """Return a message of JSON and bytes."""
    written = json.dumps(head, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(written), len(content)) + written + content


def received(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message, or None where the other side is gone; `read` reads exactly."""
    lengths = read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    head, content = _LENGTHS.unpack(lengths)
    body = read(head + content)
    if len(body) < head + content:
        return None
    return json.loads(body[:head]), body[head:]


def answer(checked: Checked) -> bytes:
    """Return the result as a message."""
    return frame(asdict(checked))


def checked_of(head: dict[str, Any]) -> Checked:
    """Return the result in a message."""
    return Checked(
        head["valid"],
        tuple(Diagnostic(**one) for one in head["errors"]),
        tuple(Diagnostic(**one) for one in head["warnings"]),
        head["details"],
    )
