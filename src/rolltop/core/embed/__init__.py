"""Text to vectors whose nearness is nearness of meaning: one contract, a model, and a fake.

Importing this imports neither numpy nor the model's runtime, nor the fake (`fake.FakeEmbedder`).
Without the extra `semantic` there is no embedder and searches go by words.
"""

from __future__ import annotations

from rolltop.core import blas
from rolltop.core.embed.models import (
    DEFAULT_MODEL,
    EXTRA,
    Embedder,
    Matrix,
    embedder,
    load,
    missing_packages,
    model_names,
    ready,
)

__all__ = [
    "DEFAULT_MODEL",
    "EXTRA",
    "Embedder",
    "Matrix",
    "embedder",
    "load",
    "missing_packages",
    "model_names",
    "ready",
]

blas.let_threads_sleep()
