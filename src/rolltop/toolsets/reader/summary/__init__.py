"""Summaries in the document's own sentences, each with its line, within a token bound.

`material` reads a document once; `render` writes summaries of it in any style and bound.
Both depend on the text alone: the same bytes give the same summary.
"""
