"""The languages of cells, and the module that checks each."""

from __future__ import annotations

from typing import Final

MODULES: Final[dict[str, str]] = {
    "py": "python_source",
    "js": "grammar",
    "ts": "grammar",
    "tsx": "grammar",
    "jsx": "grammar",
    "rs": "grammar",
    "c": "c_family",
    "h": "c_family",
    "cpp": "c_family",
    "hpp": "c_family",
    "sh": "grammar",
    "css": "css",
    "html": "html",
    "htm": "html",
    "java": "grammar",
    "go": "grammar",
    "rb": "grammar",
    "toml": "toml_text",
    "php": "grammar",
    "cs": "grammar",
    "json": "json_text",
    "yaml": "yaml_text",
    "yml": "yaml_text",
    "md": "markdown",
    "txt": "plain_text",
}
LANGUAGES: Final[tuple[str, ...]] = tuple(MODULES)
