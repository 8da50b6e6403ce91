"""Building blocks of the scanners' regular expressions."""

from __future__ import annotations


def repetition(*alternatives: str) -> str:
    """Return a possessive repetition of alternatives that matches in constant memory.

    Python before 3.11.5 does not go back to where an alternative began that failed further on
    (python/cpython#106052); one that fails at once and comes last makes it do so.
    """
    return rf"(?:{'|'.join(alternatives)}|(?!))*+"


def angle_brackets(inside: str, deepest: int = 5) -> str:
    """Return a pattern for `<…>` with up to `deepest` levels of them in it.

    `inside` is one character, no bracket. A bracket is matched with its partner alone: had any `>`
    been one, the ways to match several types in a row would multiply.
    """
    deeper = f"|{angle_brackets(inside, deepest - 1)}" if deepest else ""
    return f"<(?:{inside}++{deeper})*>"
