"""The one idiom for importing heavy modules late."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A module that is imported when one of its attributes is first read."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401  # the module's own type rules
        """Return the module's attribute, importing the module first."""
        return getattr(import_module(self.__name__), attribute)


def lazy(name: str) -> LazyModule:
    """Return a stand-in for the module `name` that is imported on first use.

    Type checkers see the real module where the caller writes::

        if TYPE_CHECKING:
            from rolltop.toolsets.tasks import service
        else:
            service = lazy("rolltop.toolsets.tasks.service")
    """
    return LazyModule(name)
