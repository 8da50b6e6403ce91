"""Parts of regular expressions that the scanners share."""

from __future__ import annotations


def repeated(*alternatives: str) -> str:
    """Return what matches any number of these, none of which is given back, in constant memory.

    Python before 3.11.5 does not go back to where an alternative began that failed further on
    (python/cpython#106052); one that fails at once and comes last makes it do so.
    """
    return rf"(?:{'|'.join(alternatives)}|(?!))*+"
