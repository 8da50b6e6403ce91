"""The envelope every answer comes in."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.models import JsonObject

LONGEST_SHOWN: Final = 200
"""Characters of a caller's text that an error repeats, the mark of a cut counted."""


@dataclass(frozen=True, slots=True)
class Clock:
    """When a call began."""

    started: float = field(default_factory=perf_counter)

    def meta(self, repo: str, **known: Any) -> JsonObject:  # noqa: ANN401  # any JSON value
        """Return what an answer says of itself; what is empty or None is left out."""
        duration = int((perf_counter() - self.started) * 1000)
        given = {name: value for name, value in known.items() if value not in (None, {}, [])}
        return {"repo": repo, "duration_ms": duration, "truncated": False, **given}


def cut(text: str) -> str:
    """Return a caller's text as an error may repeat it."""
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 1] + "…"
