"""The embedder's contract, kept by the model and by its stand-in, and life without the extra."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from rolltop.core import embed
from rolltop.core.embed.fake import FakeEmbedder

if TYPE_CHECKING:
    from rolltop.core.embed import Embedder


@pytest.fixture(scope="module")
def model() -> Embedder:
    """Return the real model."""
    made = embed.embedder()
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
    assert either.version.startswith(either.name)
    assert len(either.version) <= 100


def test_texts_that_mean_the_same_are_near(model: Embedder) -> None:
    vectors = model.embed(
        ["How do I cancel my subscription?", "ending a paid membership", "the boiling point of tin"]
    )
    assert vectors[0] @ vectors[1] > 2 * abs(vectors[0] @ vectors[2])


def test_one_model_is_loaded_a_process(model: Embedder) -> None:
    assert embed.embedder(embed.DEFAULT_MODEL) is model


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(LookupError):
        embed.embedder("gpt")
    assert embed.DEFAULT_MODEL in embed.model_names()


def test_without_the_extra_there_is_no_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert embed.missing_packages() == []
    monkeypatch.setattr("rolltop.core.embed.models._made", {})
    monkeypatch.setattr("rolltop.core.embed.models._PACKAGES", ("numpy", "not_there"))
    assert embed.missing_packages() == ["not_there"]
    assert embed.embedder() is None
