"""An embedder for tests, whose meaning is the words that two texts share."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import numpy as np

from rolltop.core.fulltext import analyzer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.embedding import Matrix


class FakeEmbedder:
    """Vectors made of hashed words; `synonyms` are words that mean the same as others.

    `embedded` counts the texts it was given.
    """

    def __init__(
        self, version: str = "fake/1", *, dims: int = 64, synonyms: dict[str, str] | None = None
    ) -> None:
        """Take the version to answer and what words mean the same."""
        self.version: Final = version
        self.dims: Final = dims
        self.embedded_count = 0
        self._synonyms: Final = synonyms or {}

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text; the zero vector for a text without words."""
        self.embedded_count += len(texts)
        made = np.zeros((len(texts), self.dims), dtype=np.float32)
        for row, text in zip(made, texts, strict=True):
            for word in analyzer.tokenize(text):
                meaning = self._synonyms.get(word, word)
                digest = hashlib.sha256(f"{self.version} {meaning}".encode()).digest()
                row[int.from_bytes(digest[:4]) % self.dims] += 1.0
        norms = np.linalg.norm(made, axis=1, keepdims=True)
        return made / np.maximum(norms, np.float32(1e-12))
