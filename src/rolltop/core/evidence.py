"""Evidence: addresses that a task names as proof, with hashes of what was there."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from rolltop.core.addresses import parse_address
from rolltop.core.arguments import require_storable, value_preview
from rolltop.core.context import CallContext, import_object
from rolltop.core.errors import (
    DeadlineExceeded,
    InvalidArgument,
    NotFound,
    RolltopError,
    Unavailable,
)
from rolltop.core.text.lines import TextLines

State = Literal["changed", "missing"]

MAX_URI_LENGTH: Final = 2048
WEB_ADDRESS: Final = re.compile(r"https?://[^\s/?#]+\S*", re.IGNORECASE)


@dataclass(frozen=True)
class Evidence:
    """An address, with the whole id of a record, and what it led to; of the web nothing."""

    uri: str
    sha256: str = ""


async def resolve_evidence(call: CallContext, uri: str, *, strictly: bool = False) -> Evidence:
    """Return what an address leads to now; `strictly`, only what may count as proof.

    Raises NotFound, and InvalidArgument for what is no evidence.
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
        record_id, digest = await import_object(path)(call, address, strictly=strictly)
    except InvalidArgument as refused:
        message = f"evidence {value_preview(given)}: {refused.message}"
        raise InvalidArgument(message, hint=refused.hint) from None
    except RolltopError as missing:
        if isinstance(missing, Unavailable | DeadlineExceeded):
            raise
        raise NotFound(
            f"evidence {value_preview(given)}: {missing.message}", hint=missing.hint
        ) from None
    return Evidence(str(replace(address, id=record_id)), digest)


async def find_state(call: CallContext, kept: Evidence) -> State | None:
    """Say whether what is kept as evidence is another now or gone; None if it is as it was."""
    try:
        now = await resolve_evidence(call, kept.uri)
    except (NotFound, InvalidArgument):
        return "missing"
    return "changed" if now.sha256 != kept.sha256 else None


def worst_state(states: Sequence[State | None]) -> State | None:
    """Return what is said of several together."""
    if "missing" in states:
        return "missing"
    return "changed" if "changed" in states else None


def hash_lines(text: str, lines: tuple[int, int] | None) -> str:
    """Return the sha256 of a text, or of lines of it. Raises NotFound if they are not there."""
    if lines is not None:
        whole = TextLines(text)
        if lines[1] > len(whole):
            raise NotFound(f"there are only {len(whole)} lines", hint="Name lines that are there.")
        text = whole.between(*lines)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
