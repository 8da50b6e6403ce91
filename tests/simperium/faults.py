"""What can go wrong between a client and the server, on demand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

Kind = Literal[
    "status",  # answered with `status`, `text` and `headers`; nothing is done
    "unreachable",  # the connection is closed before anything is read
    "silent",  # nothing is done and nothing is answered until the client gives up
    "lost",  # it is done, and the connection closes without an answer
    "late",  # it is done, and nothing is answered until the client gives up
    "half",  # it is done, and half of the answer comes as if it were all
    "html",  # a page for people, with status 200; nothing is done
    "shape",  # JSON of the wrong shape, with status 200; nothing is done
    "endless",  # an answer that never ends; nothing is done
    "redirect",  # sent to another host; nothing is done
    "empty_index",  # an index without objects
    "old_cursor",  # an index whose cursor is the first there was
]
Route = Literal["login", "index", "get", "post", "delete"]

STATUSES: Final = (401, 405, 409, 412, 413, 429, 440, 500, 502, 503)


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, once, with the next request of `route` (None: with any)."""

    kind: Kind
    route: Route | None = None
    status: int = 500
    text: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass
class FaultPlan:
    """The faults that are still to come, in order."""

    planned: list[Fault] = field(default_factory=list[Fault])

    def add(
        self,
        kind: Kind,
        route: Route | None = None,
        *,
        times: int = 1,
        status: int = 500,
        text: str = "",
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        """Plan a fault for the next `times` requests of `route`."""
        self.planned.extend([Fault(kind, route, status, text, headers)] * times)

    def take(self, route: Route) -> Fault | None:
        """Return the fault of a request, which is then no longer planned."""
        for at, fault in enumerate(self.planned):
            applies = fault.kind not in {"empty_index", "old_cursor"} or route == "index"
            if applies and fault.route in {None, route}:
                return self.planned.pop(at)
        return None

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        self.planned.clear()
