"""Token counts equal tiktoken's, on any text; prefixes are the longest that fit."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import sysconfig
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core import token_counter
from rolltop.core.token_counter import ENCODINGS, TokenEncoding
from tests.campaign import examples, is_full
from tests.vocabularies import reference

MIXED_TEXT_BYTES: Final = 20_000_000 if is_full() else 3_000_000

ALPHABET: Final = st.one_of(
    st.characters(),
    st.characters(categories=["Cs"]),
    st.sampled_from(
        [*" \t\n\r'/!aZ9é\u017fK²字\u0301\u200d\x00\x1c\x85", "\U0001f600", "\U0001f1e6", "\u2028"]
    ),
)
SNIPPETS: Final = st.sampled_from(
    ["<|endoftext|>", "<|fim_prefix|>", "<|im_start|>", "'s", "'LL", "  ", "\r\n", "word", " The"]
)
HARDLY: Final = 16
"""Code points: fewer than most words have that are cut."""
TEXTS: Final = st.lists(st.one_of(ALPHABET, SNIPPETS), max_size=60).map("".join)

HOSTILE: Final = {
    "letters": "a" * 100_000,
    "spaces": " " * 100_000,
    "newlines": "\n" * 20_000,
    "mixed line ends": "a\r\nb\rc\n\r\n" * 5_000,
    "joined emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 3_000,
    "chinese": "文字を数える。" * 10_000,
    "digits": "0123456789" * 10_000,
    "equals": "=" * 100_000,
    "controls": "".join(map(chr, range(256))) * 50,
    "base64": base64.b64encode(hashlib.shake_256(b"rolltop").digest(45_000)).decode(),
    "special": "<|endoftext|><|fim_suffix|>text<|endofprompt|>" * 500,
    "punctuation then slash": "!\n/a\n/" * 5_000,
    "long s": "'\u017f \u017fo don'T I'LL'vE" * 2_000,
    "surrogates": "\ud800 a \udc00 \ud83d\ude00 \udfff" * 1_000,
}


def _expected(text: str, encoding: str) -> int:
    return len(reference(encoding).encode_ordinary(text))


def _without_surrogates(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def _mixed_text() -> list[str]:
    """Return many sources, documents and data this machine has."""
    kinds = ("*.py", "*.txt", "*.rst", "*.md", "*.json", "*.html", "*.c", "*.h", "METADATA")
    found: list[str] = []
    size = 0
    for folder in (sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")):
        for kind in kinds:
            for path in sorted(Path(folder).rglob(kind))[:1_500]:
                data = path.read_bytes()
                size += len(data)
                found.append(data.decode("utf-8", "replace"))
                if size > MIXED_TEXT_BYTES:
                    return found
    return found


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_counts_equal_tiktoken_on_mixed_text(encoding: TokenEncoding) -> None:
    texts = _mixed_text()
    assert sum(map(len, texts)) > MIXED_TEXT_BYTES * 0.9
    whole = "\n".join(texts)
    counted = [token_counter.count(text, encoding) for text in texts]
    expected = reference(encoding).encode_ordinary_batch(texts, num_threads=2)
    assert counted == [len(ids) for ids in expected]
    # As one text it is counted in pieces: the sum still is the exact count.
    part = whole[: int(MIXED_TEXT_BYTES * 0.3)]
    assert token_counter.count(part, encoding) == _expected(part, encoding)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", HOSTILE)
def test_counts_equal_tiktoken_on_hostile_text(name: str, encoding: TokenEncoding) -> None:
    assert token_counter.count(HOSTILE[name], encoding) == _expected(HOSTILE[name], encoding)


@settings(max_examples=examples(400), deadline=None)
@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS))
def test_counts_equal_tiktoken_on_any_text(text: str, encoding: TokenEncoding) -> None:
    assert token_counter.count(text, encoding) == _expected(text, encoding)


@settings(max_examples=examples(200), deadline=None)
@given(text=TEXTS, encoding=st.sampled_from(ENCODINGS))
def test_counting_in_pieces_changes_nothing(text: str, encoding: TokenEncoding) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(token_counter, "CHUNK_CODE_POINTS", 3)
        assert token_counter.count(text * 3, encoding) == _expected(text * 3, encoding)


@settings(max_examples=examples(150), deadline=None)
@given(text=TEXTS, bound=st.integers(0, 20), encoding=st.sampled_from(ENCODINGS))
def test_prefix_fits_and_hardly_a_longer_one_does(
    text: str, bound: int, encoding: TokenEncoding
) -> None:
    replaced = _without_surrogates(text)
    fitting = [
        size
        for size in range(len(replaced) + 1)
        if token_counter.count(replaced[:size], encoding) <= bound
    ]
    found = token_counter.prefix_length(text, bound, encoding)
    assert found in fitting
    assert max(fitting) - found <= HARDLY


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("bound", [1, 100, 5_000])
def test_prefix_of_hostile_text_fits_and_is_nearly_full(name: str, bound: int) -> None:
    size = token_counter.prefix_length(HOSTILE[name], bound)
    text = _without_surrogates(HOSTILE[name])
    cost = token_counter.count(text[:size])
    assert cost <= bound
    assert token_counter.count(HOSTILE[name][:size]) <= bound
    assert cost >= min(bound, token_counter.count(text)) - 3


def test_empty_text_costs_nothing() -> None:
    assert token_counter.count("") == 0
    assert token_counter.prefix_length("", 5) == 0
    assert token_counter.prefix_length("word", 0) == 0


def test_special_token_text_is_ordinary_text() -> None:
    assert token_counter.count("<|endoftext|>") == 7


def test_every_special_token_of_the_engine_is_spelled_with_the_mark_we_look_for() -> None:
    from splintr import Tokenizer  # noqa: PLC0415  # the engine, asked about itself

    for encoding in ENCODINGS:
        assert [
            name
            for name in Tokenizer.from_pretrained(encoding).special_tokens()
            if "<|" not in name
        ] == []


def test_threads_may_count_at_once() -> None:
    text = "Several threads count this sentence.\n" * 2_000
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(token_counter.count, [text] * 32))) == 1


def test_importing_the_module_loads_no_tokenizer() -> None:
    program = "import sys, rolltop.core.token_counter; sys.exit('splintr' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_other_threads_run_while_a_long_text_is_counted() -> None:
    token_counter.count("")
    turns, is_over = [0], threading.Event()

    def take_turns() -> None:
        while not is_over.wait(0.0001):
            turns[0] += 1

    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)  # nobody has to give way, so that only who waits lets others run
    other = threading.Thread(target=take_turns)
    other.start()
    try:
        before = turns[0]
        for number in range(1000):  # another text each time: what was counted before takes no time
            token_counter.count(f"字{number}を数" * 50_000)
            if turns[0] > before:
                break
        after = turns[0]
    finally:
        sys.setswitchinterval(interval)
        is_over.set()
        other.join()
    assert after > before
