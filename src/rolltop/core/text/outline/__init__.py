"""Outlines: the sections of a text, whatever its format.

`outline(text, kind)` gives them; `kind_of(name, text)` says which kind a file is.
"""

from __future__ import annotations

from typing import Final

from rolltop.core.text.outline.kinds import KINDS, Kind, kind_of
from rolltop.core.text.outline.reading import outline
from rolltop.core.text.outline.sections import Heading, Outline, Section, sections

__all__ = [
    "KINDS",
    "VERSION",
    "Heading",
    "Kind",
    "Outline",
    "Section",
    "kind_of",
    "outline",
    "sections",
]

VERSION: Final = 5
"""Of how texts are decoded and divided. What is kept of outlines says which one it is of, and
serves no other: raise it with every change that gives some file another text or outline."""
