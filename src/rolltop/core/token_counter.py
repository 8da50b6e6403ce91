"""How many tokens a text costs, by splintr-rs; exact, and equal to tiktoken's ordinary encoding.

Importing this module imports no tokenizer: the first count of an encoding loads its vocabulary
(about 40 ms). Text that spells a special token (`<|endoftext|>`) is ordinary text.

Long texts are counted piece by piece, so memory stays flat. They are cut only where both
encodings always begin a new word whatever stands around the place; the sum is the exact count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from splintr import AnyTokenizer

TokenEncoding = Literal["cl100k_base", "o200k_base"]

ENCODINGS: Final[tuple[TokenEncoding, ...]] = get_args(TokenEncoding)

CHUNK_CODE_POINTS: Final = 1 << 20
"""Code points counted in one go."""

_SHORT_CODE_POINTS: Final = 1 << 14
"""The same of a text that may spell special tokens: no other thread runs meanwhile."""

_CODE_POINTS_PER_TOKEN: Final = 8
"""More than most texts have."""

# After a letter or digit that white space follows, and before a letter or digit that begins a
# line: neither encoding has a word that reaches across these places.
_SAFE_SPLIT: Final = re.compile(r"(?<=[^\W_])(?=[ \n])|(?<=\n)(?=[^\W_])")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def count(text: str, encoding: TokenEncoding = "cl100k_base") -> int:
    """Return the number of tokens of the text; 0 for the empty text.

    Lone surrogates count as the replacement character, as tiktoken counts them.
    """
    engine = _engine(encoding)
    return sum(_count_chunk(engine, piece) for piece in _chunks(text, CHUNK_CODE_POINTS))


def prefix_length(text: str, tokens: int, encoding: TokenEncoding = "cl100k_base") -> int:
    """Return the length, in code points, of a prefix that costs at most `tokens`, or hardly less.

    A surrogate counts as the replacement character, in pairs too.
    """
    if tokens <= 0:
        return 0
    if len(text) * 4 <= tokens:  # a token holds at least one byte
        return len(text)
    text = _SURROGATE.sub("\ufffd", text)
    engine = _engine(encoding)
    size = tokens * _CODE_POINTS_PER_TOKEN
    while len(ids := _encode(engine, text[:size])) <= tokens and size < len(text):
        size *= 2
    if len(ids) <= tokens:
        return len(text)
    end = len(engine.decode_bytes(list(ids[:tokens])).decode("utf-8", "ignore"))
    while count(text[:end], encoding) > tokens:  # the last word is another where it ends early
        end -= 1
    return end


@cache
def _engine(encoding: TokenEncoding) -> AnyTokenizer:
    """Load the encoding's tokenizer; any thread may ask."""
    from splintr import Tokenizer  # noqa: PLC0415  # loads a 30 MB library

    return Tokenizer.from_pretrained(encoding)


def _chunks(text: str, size: int) -> Iterator[str]:
    """Yield the text in parts of at least `size` code points, cut at safe places only."""
    start = 0
    while len(text) - start > size:
        cut = _SAFE_SPLIT.search(text, start + size)
        if cut is None:
            break
        yield text[start : cut.start()]
        start = cut.start()
    if start < len(text):
        yield text[start:] if start else text


def _count_chunk(engine: AnyTokenizer, piece: str) -> int:
    try:
        return _encoded_length(engine, piece)
    except UnicodeEncodeError:
        paired = piece.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return _encoded_length(engine, paired)


def _encoded_length(engine: AnyTokenizer, piece: str) -> int:
    size = _SHORT_CODE_POINTS if "<|" in piece else len(piece)
    return sum(len(_encode(engine, part)) for part in _chunks(piece, size))


def _encode(engine: AnyTokenizer, piece: str) -> Sequence[int]:
    """Return the piece's tokens.

    Only a batch lets other threads run meanwhile, and it reads special tokens as such.
    """
    if "<|" in piece:
        return engine.encode_ordinary(piece)
    packed, _ = engine.encode_batch_flat([piece])
    return memoryview(packed).cast("I")
