"""The validator's version, kept with each stored result: it changes with any parser's version."""

from __future__ import annotations

import platform
import zlib
from importlib.metadata import version
from typing import Final

_RULES: Final = 3  # grows when the rules here change
_PARSERS: Final = (
    "jsonschema-rs", "pyromark", "PyYAML", "tree-sitter", "tree-sitter-bash", "tree-sitter-c",
    "tree-sitter-c-sharp", "tree-sitter-cpp", "tree-sitter-go", "tree-sitter-java",
    "tree-sitter-javascript", "tree-sitter-php", "tree-sitter-python", "tree-sitter-ruby",
    "tree-sitter-rust", "tree-sitter-typescript", "yaml-rs",
)  # fmt: skip


def _version() -> str:
    parts = [platform.python_version(), *(version(name) for name in _PARSERS)]
    return f"{_RULES}-{zlib.crc32(' '.join(parts).encode()):08x}"


VERSION: Final = _version()
