"""Evidence: addresses that a task names as proof, with hashes of what was there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from rolltop.core.addresses import parse_address, show_address
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import CallContext, import_object
from rolltop.core.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NotFound,
    RolltopError,
    Unavailable,
)

State = Literal["changed", "missing"]
Lines = tuple[int, int] | None

MAX_URI_LENGTH: Final = 2048
_MAX_HASHED_BYTES: Final = 1 << 24
"""Bytes of all places of a text together at which lines that moved are looked for."""
_WINDOW_BYTES: Final = 256
"""What a place costs, however short its lines are."""
WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """An address, with the whole id of a record, and what it led to; of the web nothing.

    `is_only`: no other place of the text had such lines, so that they are known where they move.
    """

    uri: str
    sha256: str = ""
    is_only: bool = False


class EvidenceState(NamedTuple):
    """What became of evidence: its address now, whether it is another or gone, or where it is."""

    uri: str
    state: State | None = None
    became: str = ""


class EvidenceText(NamedTuple):
    """What the address of evidence leads to, with the whole id of a record.

    A line's break counts in the hash of lines that end with it, or only between them.
    """

    record_id: str
    data: bytes
    has_last_break: bool

    def locate(self, lines: Lines, kept: Evidence | None) -> tuple[Lines, str, bool]:
        """Return where lines are, their hash, and whether no other place has the same.

        Lines that were the only such ones are found where they moved. Raises NotFound.
        """
        if lines is None:
            return None, hashlib.sha256(self.data).hexdigest(), False
        starts = [0, *(found.end() for found in re.finditer(b"\n", self.data)), len(self.data)]
        total, count = len(starts) - 1 - self.data.endswith(b"\n"), lines[1] - lines[0] + 1
        total = total if self.data else 0

        def hash_from(line: int) -> str:
            text = self.data[starts[line - 1] : starts[line - 1 + count]]
            text = text if self.has_last_break else text.removesuffix(b"\n")
            return hashlib.sha256(text).hexdigest()

        digest = hash_from(lines[0]) if lines[1] <= total else ""
        if kept and digest == kept.sha256:
            return lines, digest, kept.is_only
        is_small = count * len(self.data) + _WINDOW_BYTES * total <= _MAX_HASHED_BYTES
        hashes = [hash_from(line) for line in range(1, total - count + 2)] if is_small else []
        if kept and kept.is_only and hashes.count(kept.sha256) == 1:
            line = hashes.index(kept.sha256) + 1
            return (line, line + count - 1), kept.sha256, True
        if not digest:
            raise NotFound(f"there are only {total} lines", hint="Name lines that are there.")
        return lines, digest, hashes.count(digest) == 1


async def resolve_evidence(
    call: CallContext, uri: str, *, strictly: bool = False, kept: Evidence | None = None
) -> Evidence:
    """Return what an address leads to now; `strictly`, only what may count as proof.

    `kept` is what it led to before. Raises NotFound, and InvalidArgument for what is no evidence.
    """
    given = require_storable(uri, "evidence").strip()
    if WEB_ADDRESS.fullmatch(given) and len(given) <= MAX_URI_LENGTH:
        return Evidence(given)
    try:
        address = parse_address(given)
    except InvalidArgument as refused:
        raise InvalidArgument(f"evidence: {refused.message}", hint=refused.hint) from None
    path = next(
        (
            toolset.evidence[address.kind]
            for toolset in call.app.registry.toolsets
            if address.kind in toolset.evidence
        ),
        None,
    )
    if path is None:
        raise InvalidArgument(
            f"evidence {value_preview(given)} is a {address.kind}",
            hint="A note, a cell, lines of a file or a web address is evidence.",
        )
    try:
        found: EvidenceText = await import_object(path)(call, address, strictly=strictly)
        lines, digest, is_only = await call.run_in_thread(found.locate, address.lines, kept)
    except InvalidArgument as refused:
        message = f"evidence {value_preview(given)}: {refused.message}"
        raise InvalidArgument(message, hint=refused.hint) from None
    except RolltopError as missing:
        if isinstance(missing, Unavailable | DeadlineExceeded):
            raise
        raise NotFound(
            f"evidence {value_preview(given)}: {missing.message}", hint=missing.hint
        ) from None
    return Evidence(str(replace(address, id=found.record_id, lines=lines)), digest, is_only)


async def find_state(call: CallContext, kept: Evidence) -> EvidenceState:
    """Say whether what is kept as evidence is another now or gone, and where its lines are."""
    try:
        now = await resolve_evidence(call, kept.uri, kept=kept)
    except (NotFound, InvalidArgument):
        return EvidenceState(kept.uri, "missing")
    if now.sha256 != kept.sha256:
        return EvidenceState(kept.uri, "changed")
    has_moved = now.uri != kept.uri
    became = f"moved to {show_address(now.uri).rpartition('#')[2]}" if has_moved else ""
    return EvidenceState(now.uri, became=became)


def worst_state(states: Sequence[EvidenceState]) -> State | None:
    """Return what is said of several together."""
    said = {one.state for one in states}
    if "missing" in said:
        return "missing"
    return "changed" if "changed" in said else None
