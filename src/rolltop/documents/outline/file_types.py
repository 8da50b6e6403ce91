"""Tell the format of a text by its name, else by its first lines."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

FileType = Literal[
    "markdown", "restructuredtext", "asciidoc", "org", "html", "latex", "notebook",
    "python", "javascript", "java", "c", "go", "rust", "ruby", "php", "csharp", "shell",
    "kotlin", "swift", "json", "yaml", "toml", "ini", "text",
]  # fmt: skip

FILE_TYPES: Final[tuple[FileType, ...]] = get_args(FileType)

_EXTENSIONS: Final[dict[FileType, str]] = {
    "markdown": "md markdown mdown mkd mkdn mdx mdc qmd rmd",
    "restructuredtext": "rst rest",
    "asciidoc": "adoc asciidoc asc",
    "org": "org",
    "html": "html htm xhtml shtml",
    "latex": "tex latex ltx sty cls",
    "notebook": "ipynb",
    "python": "py pyi pyw",
    "javascript": "js jsx mjs cjs ts tsx mts cts",
    "java": "java",
    "c": "c h cc cpp cxx c++ hh hpp hxx ipp inl cu",
    "go": "go",
    "rust": "rs",
    "ruby": "rb rake gemspec",
    "php": "php",
    "csharp": "cs",
    "shell": "sh bash zsh ksh",
    "kotlin": "kt kts",
    "swift": "swift",
    "json": "json jsonc json5 webmanifest geojson",
    "yaml": "yaml yml",
    "toml": "toml",
    "ini": "ini cfg conf properties desktop",
}

FILE_TYPES_BY_EXTENSION: Final[dict[str, FileType]] = {
    ending: kind for kind, endings in _EXTENSIONS.items() for ending in endings.split()
}

_INTERPRETERS: Final[dict[str, FileType]] = {
    "python": "python", "node": "javascript", "ruby": "ruby", "php": "php",
    "sh": "shell", "bash": "shell", "zsh": "shell",
}  # fmt: skip

PROBE_CODE_POINTS: Final = 4_096
"""Code points at the start of a text that tell the format if the name does not."""

_HTML: Final = re.compile(r"\s{0,200}(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"\s{0,200}# \S[^\n]*\n(?:[^\n]*\n)*?#{2,3} \S")


def detect_file_type(name: str, text: str = "") -> FileType:
    """Tell the format of a file by its extension, else by the first lines of its text."""
    ending = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    known = FILE_TYPES_BY_EXTENSION.get(ending)
    if known is not None:
        return known
    return _detect_by_content(text[:PROBE_CODE_POINTS]) if not ending or ending == "txt" else "text"


def _detect_by_content(head: str) -> FileType:
    if head.startswith("#!"):
        words: list[str] = re.findall(r"[a-z]+", head.partition("\n")[0])
        named: list[FileType] = [_INTERPRETERS[word] for word in words if word in _INTERPRETERS]
        return named[0] if named else "text"
    if _HTML.match(head):
        return "html"
    return "markdown" if _MARKDOWN.match(head) else "text"
