"""Evidence: addresses that a task names as proof, with hashes of what was there."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

from rolltop.core.addresses import Address, parse_address, show_address
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import CallContext, import_object
from rolltop.core.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NotFound,
    RolltopError,
    Unavailable,
)
from rolltop.core.text.lines import line_starts

State = Literal["changed", "missing"]
Lines = tuple[int, int] | None
Located = tuple[Lines, str, bool]

MAX_URI_LENGTH: Final = 2048
_MAX_HASHED_BYTES: Final = 1 << 24
"""Bytes of all places of a text together at which lines that moved are looked for."""
_WINDOW_BYTES: Final = 256
"""What a place costs, however short its lines are."""
MAX_READ_BYTES: Final = 1 << 26
"""What a call reads to tell what became of evidence, and up to one more text."""
_FILE_BYTES: Final = 1 << 12
_RECORD_BYTES: Final = 1 << 15
"""What a look at a file, or at a record, costs, were there nothing to read."""
_MAX_KEPT: Final = 1 << 14
_PLACE_LENGTH: Final = 12
_ANOTHER_ROOT: Final = "its root is another directory here"
_READERS: Final = {"note": "notes", "cell": "scratch", "file": "retrieval"}
"""What may be evidence, with the toolset that reads it."""
WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)


class OutOfSight(NotFound):
    """This server does not look there, so what is there now is unknown."""


@dataclass(frozen=True)
class Evidence:
    """An address, with the whole id of a record, and what it led to; of the web nothing.

    `is_only`: no other place of the text had such lines, so that they are known where they move.
    `place` tells the directory that the root of a file was from others: each server names its own.
    """

    uri: str
    sha256: str = ""
    is_only: bool = False
    place: str = ""


class EvidenceState(NamedTuple):
    """What became of evidence: its address now, whether it is another or gone, or where it is.

    Neither where that is unknown.
    """

    uri: str
    state: State | None = None
    became: str = ""


class EvidenceText(NamedTuple):
    """What the address of evidence leads to, with the whole id of a record.

    A line's break counts in the hash of lines that end with it, or only between them. A file of
    `size` bytes is not read yet; its `stamp`, if there is one, changes whenever it does.
    """

    record_id: str
    data: bytes | Callable[[], bytes]
    has_last_break: bool
    size: int = 0
    stamp: Hashable = None

    def locate(self, lines: Lines, kept: Evidence | None) -> Located:
        """Return where lines are, their hash, and whether no other place has the same.

        Lines that were the only such ones are found where they moved. Raises NotFound.
        """
        data = self.data if isinstance(self.data, bytes) else self.data()
        if lines is None:
            return None, hashlib.sha256(data).hexdigest(), False
        starts = line_starts(data.decode("latin-1"))  # a character for each byte
        total, count = len(starts), lines[1] - lines[0] + 1

        def hash_from(line: int) -> str:
            after = line - 1 + count
            text = data[starts[line - 1] : starts[after] if after < total else len(data)]
            text = text if self.has_last_break else text.removesuffix(b"\n")
            return hashlib.sha256(text).hexdigest()

        digest = hash_from(lines[0]) if lines[1] <= total else ""
        if kept and digest == kept.sha256:
            return lines, digest, kept.is_only
        is_small = count * len(data) + _WINDOW_BYTES * total <= _MAX_HASHED_BYTES
        hashes = [hash_from(line) for line in range(1, total - count + 2)] if is_small else []
        if kept and kept.is_only and hashes.count(kept.sha256) == 1:
            line = hashes.index(kept.sha256) + 1
            return (line, line + count - 1), kept.sha256, True
        if not digest:
            raise NotFound(f"there are only {total} lines", hint="Name lines that are there.")
        return lines, digest, hashes.count(digest) == 1


@dataclass
class ReadBudget:
    """What a call may still read to tell what became of evidence, in bytes."""

    left: float

    def take(self, size: int) -> None:
        """Count what is read next. Raises OutOfSight where nothing was left."""
        if self.left <= 0:
            raise OutOfSight("more is to be read than a call may")
        self.left -= size


class LocatedLines:
    """Where lines were found in states of files, or that they were not; for the loop alone."""

    def __init__(self, _app: object) -> None:
        self._found: dict[Hashable, Located | NotFound] = {}

    async def locate(
        self,
        call: CallContext,
        text: EvidenceText,
        lines: Lines,
        kept: Evidence | None,
        budget: ReadBudget | None,
    ) -> Located:
        """Locate lines in a text, which is read unless they were looked for in this state of it.

        Raises NotFound, and OutOfSight where the budget is spent.
        """
        key = (text.stamp, lines, kept and (kept.sha256, kept.is_only))
        found = self._found.get(key) if text.stamp else None
        if found is None:
            if budget:
                budget.take(text.size)
            try:
                found = await call.run_in_thread(text.locate, lines, kept)
            except OutOfSight:
                raise
            except NotFound as missing:
                found = missing
            if text.stamp:
                if len(self._found) >= _MAX_KEPT:
                    del self._found[next(iter(self._found))]
                self._found[key] = found
        if isinstance(found, NotFound):
            raise NotFound(found.message, hint=found.hint)
        return found


async def resolve_evidence(
    call: CallContext,
    uri: str,
    *,
    strictly: bool = False,
    kept: Evidence | None = None,
    budget: ReadBudget | None = None,
) -> Evidence:
    """Return what an address leads to now; `strictly`, only what may count as proof.

    `kept` is what it led to before. Raises NotFound, OutOfSight where that is not known here, and
    InvalidArgument for what is no evidence.
    """
    given = require_storable(uri, "evidence").strip()
    if WEB_ADDRESS.fullmatch(given) and len(given) <= MAX_URI_LENGTH:
        return Evidence(given)
    try:
        address = parse_address(given)
    except InvalidArgument as refused:
        named = kept is None and await call.run_in_thread(call.app.roots.find_address, given)
        if not named:
            raise InvalidArgument(f"evidence: {refused.message}", hint=refused.hint) from None
        address = named
    path = _find_reader(call, address)
    if budget:
        budget.take(_FILE_BYTES if address.root else _RECORD_BYTES)
    place = _identify_root(call, address)
    is_elsewhere = kept is not None and kept.place not in {"", place}
    try:
        found: EvidenceText = await import_object(path)(call, address, strictly=strictly)
        known = call.app.service(LocatedLines)
        lines, digest, is_only = await known.locate(call, found, address.lines, kept, budget)
    except RolltopError as refused:
        raise _explain(refused, address, is_elsewhere=is_elsewhere) from None
    if kept and is_elsewhere and digest != kept.sha256:
        raise OutOfSight(f"evidence {value_preview(given)}: {_ANOTHER_ROOT}")
    uri = str(replace(address, id=found.record_id, lines=lines))
    return Evidence(uri, digest, is_only, place)


def _find_reader(call: CallContext, address: Address) -> str:
    """Name the reader of the evidence. Raises OutOfSight, and InvalidArgument for what is none."""
    for toolset in call.app.registry.toolsets:
        if address.kind in toolset.evidence:
            return toolset.evidence[address.kind]
    said = f"evidence {value_preview(str(address))} is a {address.kind}"
    if address.kind in _READERS:
        raise OutOfSight(
            f"{said}, which this server does not read",
            hint=f"A server with the toolset {_READERS[address.kind]} does.",
        )
    raise InvalidArgument(
        said, hint="A note, a cell, lines of a file or a web address is evidence."
    )


def _explain(refused: RolltopError, address: Address, *, is_elsewhere: bool) -> RolltopError:
    """Word the refusal of evidence that could not be read."""
    if isinstance(refused, Unavailable | DeadlineExceeded):
        return refused
    kind, message = NotFound, refused.message
    if is_elsewhere:
        kind, message = OutOfSight, _ANOTHER_ROOT
    elif isinstance(refused, OutOfSight):
        kind = OutOfSight
    elif isinstance(refused, InvalidArgument):
        kind = InvalidArgument
    return kind(f"evidence {value_preview(str(address))}: {message}", hint=refused.hint)


def _identify_root(call: CallContext, address: Address) -> str:
    """Tell the directory of a file's root from others by a short hash; empty for a record.

    Raises OutOfSight where there is no such root.
    """
    if not address.root:
        return ""
    root = call.app.roots.find_root(address.root)
    if root is None:
        names = ", ".join(root.name for root in call.app.roots.named) or "none"
        message = f"evidence {value_preview(str(address))}: There is no root {address.root}"
        raise OutOfSight(message, hint=f"The roots are: {names}.")
    return hashlib.sha256(os.fsencode(root.path)).hexdigest()[:_PLACE_LENGTH]


async def find_state(call: CallContext, kept: Evidence, budget: ReadBudget) -> EvidenceState:
    """Say whether what is kept as evidence is another now or gone, and where its lines are.

    Nothing where this server does not look there, or the budget is spent.
    """
    try:
        now = await resolve_evidence(call, kept.uri, kept=kept, budget=budget)
    except OutOfSight:
        return EvidenceState(kept.uri)
    except NotFound:
        return EvidenceState(kept.uri, "missing")
    except InvalidArgument:  # it was evidence once
        return EvidenceState(kept.uri, "changed")
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
