"""Building blocks of the scanners' regular expressions."""

from __future__ import annotations


def repetition(*alternatives: str) -> str:
    """Return a possessive repetition of alternatives that matches in constant memory.

    Python before 3.11.5 does not go back to where an alternative began that failed further on
    (python/cpython#106052); one that fails at once and comes last makes it do so.
    """
    return rf"(?:{'|'.join(alternatives)}|(?!))*+"
