"""Notes as files: what is written and read again is equal; bad files are named, never fatal."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.toolsets.notes.import_export import (
    PortableNote,
    UnreadableNoteFile,
    parse_export,
    parse_markdown,
    render_export,
    render_markdown,
)
from rolltop.toolsets.notes.models import Content
from tests.campaign import examples

TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=60)
NAMES = st.text(
    st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), min_size=1, max_size=9
)
MOMENTS = st.floats(-1e10, 1e11) | st.integers(0, 4_000_000_000).map(float)
FIELDS = st.dictionaries(
    NAMES.filter(lambda name: name != "publishURL"),
    st.none() | st.booleans() | st.integers() | TEXTS | st.lists(TEXTS, max_size=2),
    max_size=2,
)
CONTENTS = st.builds(
    Content,
    text=TEXTS | TEXTS.map(lambda text: f"---\nid: x\n---\n{text}"),
    tags=st.lists(NAMES, max_size=3, unique=True).map(tuple),
    trash=st.booleans(),
    modified=MOMENTS,
    created=MOMENTS,
    system_tags=st.lists(
        st.sampled_from(["markdown", "pinned", "shared"]), max_size=3, unique=True
    ).map(tuple),
    extra=FIELDS,
)
NOTES = st.builds(PortableNote, content=CONTENTS, id=NAMES)


@settings(max_examples=examples(100))
@given(NOTES)
def test_a_markdown_file_gives_back_the_note(note: PortableNote) -> None:
    read = parse_markdown(render_markdown(note), "note.md", 0.0)
    assert (read.id, read.content) == (note.id, note.content)


@settings(max_examples=examples(50))
@given(st.lists(NOTES, max_size=4))
def test_an_export_gives_back_its_notes(notes: list[PortableNote]) -> None:
    read = list(parse_export(render_export(notes)))
    found = [(note.id, note.content) for note in read if isinstance(note, PortableNote)]
    ordered = sorted(notes, key=lambda note: note.content.trash)
    assert found == [(note.id, note.content) for note in ordered]


def test_simplenotes_own_export_is_read() -> None:
    export = {
        "activeNotes": [
            {
                "id": "f00d",
                "content": "Title\r\nbody",
                "creationDate": "2020-01-02T03:04:05.678Z",
                "lastModified": "2021-01-02T03:04:05.000Z",
                "markdown": True,
                "pinned": True,
                "tags": ["a", "b"],
                "collaboratorEmails": ["ada@example.org"],
                "publicURL": "http://simp.ly/publish/abc",
            }
        ],
        "trashedNotes": [{"id": "dead", "content": "", "lastModified": "2021-01-02T03:04:05Z"}],
    }
    note, gone = parse_export(b"\xef\xbb\xbf" + json.dumps(export).encode())
    assert isinstance(note, PortableNote)
    assert isinstance(gone, PortableNote)
    assert note.content == Content(
        "Title\r\nbody",
        ("a", "b", "ada@example.org"),
        modified=1609556645.0,
        created=1577934245.678,
        system_tags=("markdown", "pinned"),
    )
    assert gone.content.trash is True
    assert gone.content.created == gone.content.modified


def test_another_programs_front_matter_is_read() -> None:
    file = (
        b"---\r\ntitle: Harbour\r\ndate: 2020-01-02\r\nupdated: 2021-01-02T03:04:05+01:00\r\n"
        b"tags:\r\n  - storm\r\n  - 2020\r\n---\r\n# Harbour\r\n"
    )
    note = parse_markdown(file, "harbour.md", 7.0)
    assert note.content.text == "# Harbour\r\n"
    assert note.content.tags == ("storm", "2020")
    assert note.content.modified == 1609553045.0
    assert note.id == parse_markdown(file, "harbour.md", 8.0).id
    assert note.id != parse_markdown(file, "other.md", 7.0).id
    plain = parse_markdown(b"# no front matter\n---\n", "plain.md", 7.5)
    assert plain.content == Content("# no front matter\n---\n", modified=7.5, created=7.5)
    assert parse_markdown(b"---\ntags: a, b\n---\n", "x.md", 0.0).content.tags == ("a", "b")


@pytest.mark.parametrize(
    ("front", "heading", "stays"),
    [
        ("title: Trip to Paris\ntags: [travel]\naliases: []\n", "# Trip to Paris\n\n", False),
        ("title: Trip to Paris\nauthor: Ada\n", "# Trip to Paris\n\n", True),
        ("title: We left at dawn.\ntags: travel\n", "", False),
        ("title: 1984\n", "", True),
        ("tags: [travel]\nTODO: call Ada\n", "", True),
        ("id: 202001021200\n", "", True),
        ("date: the third of May\n", "", True),
        ("trash: maybe\n", "", True),
        ("tags:\nid:\n", "", False),
    ],
)
def test_what_a_note_has_no_field_for_stays_in_its_text(
    front: str, heading: str, *, stays: bool
) -> None:
    block, body = f"---\r\n{front}---\n", "We left at dawn.\n"
    note = parse_markdown(f"\ufeff{block}{body}".encode(), "a.md", 0.0)
    assert note.content.text == heading + block * stays + body
    assert note.content.tags == (("travel",) if "travel" in front else ())
    again = parse_markdown(render_markdown(note), "b.md", 0.0)
    assert again.content == note.content


@pytest.mark.parametrize("heading", ["# Trip", "\n# Trip \r", "## Trip", "Trip\n===="])
def test_a_title_above_kept_front_matter_is_not_written_twice(heading: str) -> None:
    block, body = "---\ntitle: Trip\ndraft: false\n---\n", "We left at dawn.\n"
    note = parse_markdown(f"{block}{heading}\n{body}".encode(), "a.md", 0.0)
    stays = f"{heading}\n" if heading.strip() != "# Trip" else ""
    assert note.content.text == f"# Trip\n\n{block}{stays}{body}"


@pytest.mark.parametrize(
    "section",
    [
        "# Title\n",
        "# Chapter: 1\n",
        "- milk\n- bread\n",
        "Two words\n",
        "7\n",
        "\n# a\n\n",
        "Agenda: x\nb:\n",
    ],
)
def test_a_section_between_rules_is_part_of_the_note(section: str) -> None:
    for text in (f"---\n{section}---\nBody\n", f"---\n{section}---"):
        assert parse_markdown(text.encode(), "a.md", 0.0).content.text == text
    again = parse_markdown(b"---\nid: a\n---\n" + text.encode(), "a.md", 0.0)
    assert again.content.text == text
    assert parse_markdown(b"---\n\n---\nBody\n", "a.md", 0.0).content.text == "Body\n"


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe",
        b"a\x00b",
        b"---\ntags: [a\n---\n",
        b"---\ntags: {a: b}\n---\n",
        b'---\ntitle: "\\0"\n---\n',
        b"---\nextra: {a: .nan}\n---\n",
        b"---\ntags: [0x" + b"f" * 5_000 + b"]\n---\n",
    ],
)
def test_a_file_that_is_no_note_is_refused_by_its_name(data: bytes) -> None:
    with pytest.raises(Exception, match=r"bad\.md"):
        parse_markdown(data, "bad.md", 0.0)


@pytest.mark.parametrize(
    "data",
    [b"", b"<html>", b"[]", b'{"notes": []}', b'{"activeNotes": {}}', b"[" * 100_000, b"\xff"],
)
def test_what_is_no_export_is_refused(data: bytes) -> None:
    with pytest.raises(UnreadableNoteFile):
        list(parse_export(data))


@pytest.mark.parametrize(
    "entry",
    [
        1,
        {},
        {"content": 5},
        {"content": "a\x00"},
        {"content": "\ud800"},
        {"content": "a", "tags": {"x": 1}},
        {"content": "a", "id": "\ud800"},
    ],
)
def test_an_entry_that_is_no_note_is_named_and_the_others_are_read(entry: Any) -> None:
    export = {"activeNotes": [entry, {"content": "good"}]}
    bad, good = parse_export(json.dumps(export).encode())
    assert isinstance(bad, UnreadableNoteFile)
    assert "activeNotes[0]" in bad.message or "id" in bad.message
    assert isinstance(good, PortableNote)
