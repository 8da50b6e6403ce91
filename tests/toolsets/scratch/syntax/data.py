"""The data of these tests."""

from __future__ import annotations

import ast
import json
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[3] / "data" / "validate"
_SAME_FILES = {"htm": "html", "yml": "yaml"}


@cache
def load(name: str) -> Any:
    """Return the JSON file `name` below the data folder."""
    return json.loads((DATA / name).read_text(encoding="utf-8"))


@cache
def real_files(language: str) -> dict[str, str]:
    """Return at least 20 published files of a language, by path."""
    if language == "py":
        folder = Path(ast.__file__).parent
        return {
            path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("[cs]*.py"))
        }
    return load(f"real/{_SAME_FILES.get(language, language)}.json")
