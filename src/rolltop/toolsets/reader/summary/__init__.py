"""Summaries in the document's own sentences, each with its line, within a token bound.

`analyze` reads a document once; `SummaryRenderer` writes summaries of it in any style and bound.
Both depend on the text alone: the same bytes give the same summary.
"""

from __future__ import annotations

from rolltop.toolsets.reader.summary.material import SAMPLE_CHARACTERS, Material, analyze
from rolltop.toolsets.reader.summary.render import Summary, SummaryRenderer, truncate_title

__all__ = [
    "SAMPLE_CHARACTERS",
    "Material",
    "Summary",
    "SummaryRenderer",
    "analyze",
    "truncate_title",
]
