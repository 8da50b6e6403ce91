"""Token counting beside tiktoken, on one core."""

from __future__ import annotations

import sysconfig
from functools import partial
from pathlib import Path

from benchmarks.measure import Table, interleaved, ratio, time_of
from rolltop.core import token_counter
from tests.vocabularies import reference

WANTED = 10_000_000


def corpus() -> list[str]:
    """Return some 10 MB of the standard library's sources and documents, as texts."""
    texts: list[str] = []
    size = 0
    for path in sorted(Path(sysconfig.get_path("stdlib")).rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        texts.append(text)
        size += len(text)
        if size > WANTED:
            break
    return texts


def _ours(texts: list[str], encoding: token_counter.TokenEncoding) -> float:
    return time_of(lambda: [token_counter.count(text, encoding) for text in texts])


def _theirs(texts: list[str], encoding: token_counter.TokenEncoding) -> float:
    engine = reference(encoding)
    return time_of(lambda: [len(engine.encode_ordinary(text)) for text in texts])


def tables() -> list[Table]:
    """Return the counting table."""
    texts = corpus()
    size = sum(len(text.encode()) for text in texts)
    rows: list[tuple[str, ...]] = []
    for encoding in token_counter.ENCODINGS:
        ours, theirs = interleaved(
            [partial(_ours, texts, encoding), partial(_theirs, texts, encoding)], 5
        )
        speed, other = size / ours.median / 1e6, size / theirs.median / 1e6
        row = (encoding, f"{speed:.1f} MB/s", f"{other:.1f} MB/s", ratio(theirs, ours), "≥ 2 ×")
        rows.append(row)
    return [
        Table(
            "Token counting",
            f"{len(texts)} files of the standard library, {size / 1e6:.1f} MB, one thread, 5 runs "
            "each in turn.",
            ("encoding", "Rolltop", "tiktoken", "times as fast", "promise"),
            rows,
        )
    ]
