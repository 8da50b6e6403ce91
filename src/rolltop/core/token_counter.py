"""How many tokens a text costs, by splintr-rs; exact, and equal to tiktoken's ordinary encoding.

Importing this module imports no tokenizer: the first count of an encoding loads its vocabulary
(about 40 ms). Text that spells a special token (`<|endoftext|>`) is ordinary text.

Long texts are counted piece by piece, so memory stays flat. They are cut only where both
encodings always begin a new word whatever stands around the place; the sum is the exact count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, Literal, get_args

if TYPE_CHECKING:
    from splintr import AnyTokenizer

TokenEncoding = Literal["cl100k_base", "o200k_base"]

ENCODINGS: Final[tuple[TokenEncoding, ...]] = get_args(TokenEncoding)

CHUNK_CODE_POINTS: Final = 1 << 20
"""Code points counted in one go."""

PREFIX_CHUNK_CODE_POINTS: Final = 1 << 14
"""Code points encoded in one go while the longest prefix is looked for."""

LOOKAHEAD_CODE_POINTS: Final = 160
"""Code points looked at beyond a found prefix; the longest token has 128 bytes."""

MAX_SEARCHED_WORD: Final = 1 << 12
"""Words up to this many code points are searched for the very last code point that fits."""

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
    """Return the length, in code points, of the longest prefix that costs at most `tokens`.

    Never more than `tokens`. Inside an unbroken word of more than 4,096 code points the prefix
    may be a few code points shorter than the longest. A surrogate counts as the replacement
    character, in pairs too.
    """
    if tokens <= 0:
        return 0
    if len(text) * 4 <= tokens:  # a token holds at least one byte
        return len(text)
    text = _SURROGATE.sub("\ufffd", text)
    engine = _engine(encoding)
    start, left = 0, tokens
    for piece in _chunks(text, PREFIX_CHUNK_CODE_POINTS):
        cost = (
            _count_chunk(engine, piece) if len(piece) < 2 * PREFIX_CHUNK_CODE_POINTS else left + 1
        )
        if cost > left:
            return _extend_prefix(engine, text, start, left)
        start, left = start + len(piece), left - cost
    return len(text)


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
    """Return the piece's tokens; the packed form (4 bytes each) reads special tokens as such."""
    if "<|" in piece:
        return len(engine.encode_ordinary(piece))
    return len(engine.encode_flat(piece)) // 4


def _extend_prefix(engine: AnyTokenizer, text: str, start: int, left: int) -> int:
    """Return the end of the longest run from `start` that costs at most `left` tokens."""
    window, ids = _window(engine, text, start, left)
    if len(ids) <= left:
        return len(text)
    guess = len(engine.decode_bytes(ids[:left]).decode("utf-8", "ignore"))
    # Only what follows the last safe cut can change its tokens by ending elsewhere.
    cut = 0
    for place in _SAFE_SPLIT.finditer(window, max(0, guess - MAX_SEARCHED_WORD), guess):
        cut = place.start()
    room = left - _count_chunk(engine, window[:cut])
    reach = LOOKAHEAD_CODE_POINTS if guess - cut <= MAX_SEARCHED_WORD else 0
    for end in range(min(len(window), guess + reach), cut, -1):
        if _count_chunk(engine, window[cut:end]) <= room:
            return start + end
    return start + cut


def _window(engine: AnyTokenizer, text: str, start: int, left: int) -> tuple[str, list[int]]:
    """Return the text from `start` on, as far as it costs more than `left`, and its tokens."""
    size = 2 * PREFIX_CHUNK_CODE_POINTS
    while True:
        window = text[start : start + size]
        ids = engine.encode_ordinary(window)
        if len(ids) > left or start + size >= len(text):
            return window, ids
        size *= 2
