"""Which format a text has: by its name, and by its first lines where the name does not say."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

Kind = Literal[
    "markdown", "restructuredtext", "asciidoc", "org", "html", "latex", "notebook",
    "python", "javascript", "java", "c", "go", "rust", "ruby", "php", "csharp", "shell",
    "kotlin", "swift", "json", "yaml", "toml", "ini", "text",
]  # fmt: skip

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)

_ENDINGS: Final[dict[Kind, str]] = {
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

BY_ENDING: Final[dict[str, Kind]] = {
    ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()
}

_INTERPRETERS: Final[dict[str, Kind]] = {
    "python": "python",
    "node": "javascript",
    "ruby": "ruby",
    "php": "php",
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
}

LOOKED_AT: Final = 4_096
"""Code points at the start of a text that are looked at where the name does not say."""

_HTML: Final = re.compile(r"\s{0,200}(?:<!doctype html|<html[\s>])", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"\s{0,200}# \S[^\n]*\n(?:[^\n]*\n)*?#{2,3} \S")


def kind_of(name: str, text: str = "") -> Kind:
    """Return the format of a file by its name's ending, else by the first lines of its text."""
    ending = name.rpartition(".")[2].lower() if "." in name.lstrip(".") else ""
    known = BY_ENDING.get(ending)
    if known is not None:
        return known
    return _by_first_lines(text[:LOOKED_AT]) if not ending or ending == "txt" else "text"


def _by_first_lines(head: str) -> Kind:
    if head.startswith("#!"):
        words: list[str] = re.findall(r"[a-z]+", head.partition("\n")[0])
        named: list[Kind] = [_INTERPRETERS[word] for word in words if word in _INTERPRETERS]
        return named[0] if named else "text"
    if _HTML.match(head):
        return "html"
    return "markdown" if _MARKDOWN.match(head) else "text"
