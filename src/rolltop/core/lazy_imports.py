"""The one idiom for importing heavy modules late."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any


class LazyModule:
    """A module that is imported when one of its attributes is first read."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, attribute: str) -> Any:  # noqa: ANN401  # the module's own type rules
        """Return the module's attribute, importing the module first."""
        return getattr(load_module(self), attribute)


def load_module(module: LazyModule) -> ModuleType:
    """Return the module that stands behind the stand-in, importing it the first time."""
    return import_module(module.__name__)


def lazy(name: str) -> LazyModule:
    """Return a stand-in for the module `name` that is imported on first use.

    Type checkers see the real module where the caller writes::

        if TYPE_CHECKING:
            from rolltop.toolsets.tasks import service
        else:
            service = lazy("rolltop.toolsets.tasks.service")
    """
    return LazyModule(name)
