"""Addresses are printed one way and read back as they were; other texts are refused."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolltop.core import addresses
from rolltop.core.addresses import Address, parse_address
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import AddressText, truncate_texts, without_addresses

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
segments = names.filter(lambda text: len(text) < 60)
spans = st.none() | st.tuples(st.integers(1, 999), st.integers(0, 99)).map(
    lambda pair: (pair[0], pair[0] + pair[1])
)
hashes = st.just("") | st.text("0123456789abcdef", min_size=12, max_size=12)
records = st.builds(
    Address,
    st.sampled_from(["note", "pad", "cell", "task"]),
    segments,
    version=st.just("") | st.integers(0, 10**9 - 1).map(str),
    lines=spans,
)
files = st.builds(
    Address,
    st.just("file"),
    root=segments,
    path=st.lists(segments, min_size=1, max_size=4).map("/".join),
    version=hashes,
    lines=spans,
)
sections = st.builds(
    Address,
    st.just("section"),
    root=segments,
    path=segments,
    section=segments,
    version=hashes,
    lines=spans,
)


@given(records | files | sections)
def test_an_address_is_read_back_as_it_was_printed(address: Address) -> None:
    printed = str(address)
    assert not set(printed) & set(' "<>?[]\n')
    assert parse_address(printed) == address
    assert parse_address(f" {printed}\n") == address
    assert parse_address(address.text) == address


def test_answers_name_a_single_line_once() -> None:
    found = Address("file", root="code", path="src/a.py", lines=(20, 20))
    assert found.text == "rolltop://file/code/src/a.py#L20"
    assert str(found) == "rolltop://file/code/src/a.py#L20-20"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rolltop://note/1a2b3c4d@7#L3", Address("note", "1a2b3c4d", version="7", lines=(3, 3))),
        ("ROLLTOP://TASK/ab", Address("task", "ab")),
        (
            "rolltop://file/code/a/b.py#L10-L20",
            Address("file", "", "code", "a/b.py", lines=(10, 20)),
        ),
        # As people type what answers would encode.
        ("rolltop://file/code/@types/a b.ts", Address("file", "", "code", "@types/a b.ts")),
        ("rolltop://file/code/100%.md", Address("file", "", "code", "100%.md")),
        (
            "rolltop://section/docs/a.md@0123456789ab#s1.2",
            Address("section", "", "docs", "a.md", "s1.2", "0123456789ab"),
        ),
    ],
)
def test_what_people_type_is_read(text: str, said: Address) -> None:
    assert parse_address(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "",
        "note/1",
        "https://example.org/",
        "rolltop://",
        "rolltop://note",
        "rolltop://note/",
        "rolltop://note/a/b",
        "rolltop://note/a#b",
        "rolltop://note/a#L0",
        "rolltop://note/a#L9-3",
        "rolltop://note/%00",
        "rolltop://thing/a",
        "rolltop://file/code",
        "rolltop://file/code/",
        "rolltop://file//a.py",
        "rolltop://section/docs/a.md",
        "rolltop://section/docs/a.md#",
        "rolltop://file/code/" + "a" * 8192,
        "rolltop://note/a#L" + "9" * 4000,
    ],
)
def test_any_other_text_is_refused_with_what_an_address_looks_like(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_address(text)
    assert caught.value.code == "INVALID_ARGUMENT"
    assert "rolltop://file/<root>/<path>#L10-20" in caught.value.hint
    assert len(caught.value.message) < 100


@given(st.text(st.sampled_from("rolltop:/#@%L-09afnotefile"), max_size=80))
def test_no_text_is_more_than_refused(text: str) -> None:
    for given_text in (text, f"rolltop://{text}", f"rolltop://file/{text}"):
        try:
            address = parse_address(given_text)
        except InvalidArgument:
            continue
        assert parse_address(str(address)) == address


def test_answers_show_the_beginning_of_a_uuid_and_any_other_id_whole() -> None:
    record = str(uuid.uuid4())
    assert addresses.record_address("task", record) == f"rolltop://task/{record[:8]}"
    hexadecimal = record.replace("-", "")
    assert addresses.record_address("note", hexadecimal) == f"rolltop://note/{record[:8]}"
    assert addresses.record_address("note", "agtz/W1@7") == "rolltop://note/agtz%2FW1%407"
    assert addresses.full_address("task", record) == f"rolltop://task/{record}"


def test_a_name_that_is_no_utf8_is_read_back() -> None:
    path = b"caf\xe9.md".decode("utf-8", "surrogateescape")
    printed = addresses.file_address("docs", path)
    assert printed == "rolltop://file/docs/caf%E9.md"
    assert parse_address(printed).path == path


def test_an_address_is_whole_or_not_there_at_all() -> None:
    address = addresses.file_address("docs", "folder/" * 20 + "a.md", (1, 2))
    answer = {"hits": [{"uri": address, "text": "word " * 200}], "metadata": {"uri": "rolltop://"}}
    cut = truncate_texts(answer, 200)
    assert cut is not None
    assert cut["hits"][0]["uri"] == address
    assert isinstance(cut["hits"][0]["uri"], AddressText)
    bare = without_addresses(answer)
    assert bare == {"hits": [{"text": "word " * 200}], "metadata": {"uri": "rolltop://"}}
