"""`rolltop notes export` and `rolltop notes import`."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Shell

TEXTS = ["# Harbour\r\n\nopen at six  \n", "# Harbour\nanother", "\ufeffBOM 😀", "", "gone"]


def call(shell: Shell, tool: str, **arguments: Any) -> dict[str, Any]:
    done = shell("call", tool, "--json", json.dumps(arguments))
    assert done.code == 0, done.err
    return json.loads(done.out)


def everything(shell: Shell) -> list[dict[str, Any]]:
    """Return all notes with all they show, by id."""
    items = call(shell, "note_list", trash_s=2)["items"]
    return [call(shell, "note_get", id=item["id"]) for item in sorted(items, key=lambda i: i["id"])]


@pytest.fixture
def filled(shell: Shell) -> Shell:
    for text in TEXTS:
        call(shell, "note_save", text=text, tags=["a", "ü x"], trash=text == "gone")
    return shell


@pytest.mark.parametrize("place", ["out", "notes.json"])
def test_a_round_trip_ends_where_it_began(filled: Shell, tmp_path: Path, place: str) -> None:
    path = tmp_path / place
    before = everything(filled)
    done = filled("notes", "export", str(path))
    assert done.code == 0, done.err
    filled.set("ROLLTOP_DATA_DIR", str(tmp_path / "another"))
    assert everything(filled) == []
    done = filled("notes", "import", str(path))
    assert done.code == 0, done.err
    assert f"Added {len(TEXTS)} notes" in done.out
    assert everything(filled) == before
    again = filled("notes", "import", str(path))
    assert f"{len(TEXTS)} were here as they are" in again.out
    assert everything(filled) == before


def test_an_export_writes_files_for_their_owner_alone(filled: Shell, tmp_path: Path) -> None:
    out = tmp_path / "out"
    filled("notes", "export", str(out))
    names = {file.relative_to(out).as_posix() for file in out.rglob("*.md")}
    assert names == {"Harbour.md", "Harbour-2.md", "BOM.md", "note.md", "trash/gone.md"}
    assert {file.stat().st_mode & 0o777 for file in out.rglob("*.md")} == {0o600}
    again = filled("notes", "export", str(out))
    assert again.code == 1
    assert "Name a new or an empty folder" in again.err


def test_what_is_newer_here_stays_and_what_is_older_becomes_a_version(
    filled: Shell, tmp_path: Path
) -> None:
    filled("notes", "export", str(tmp_path / "out"))
    (note,) = [each for each in everything(filled) if each["text"] == TEXTS[1]]
    saved = call(filled, "note_save", id=note["id"], local_version=1, text="newer here")
    assert "1 are newer here" in filled("notes", "import", str(tmp_path / "out")).out
    assert call(filled, "note_get", id=note["id"]) == saved
    file = tmp_path / "edited" / "Harbour.md"
    file.parent.mkdir()
    front = f'---\nid: "{note["id"]}"\nmodified: 2999-01-01T00:00:00Z\n---\n'
    file.write_text(f"{front}from a file", encoding="utf-8")
    assert "changed 1" in filled("notes", "import", str(file.parent)).out
    assert call(filled, "note_get", id=note["id"])["text"] == "from a file"
    kept = call(filled, "note_manage", action="history", id=note["id"])["versions"]
    assert [(v["local_version"], v["source"]) for v in kept] == [
        (3, "import"),
        (2, "local"),
        (1, "local"),
    ]


def test_a_bad_file_is_named_and_the_others_are_taken(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "sub").mkdir(parents=True)
    (folder / "good.md").write_text("good", encoding="utf-8")
    (folder / "sub" / "plain.txt").write_text("plain", encoding="utf-8")
    for name in ("bad.md", "\x1b[2J.md"):
        (folder / name).write_bytes(b"\xff\xfe")
    (folder / "image.png").write_bytes(b"\x89PNG")
    (folder / "link.md").symlink_to("/etc/passwd")
    done = shell("notes", "import", str(folder))
    assert done.code == 1
    for name in ("bad.md", r"\u001b[2J.md"):
        assert f"Left out: {name} is not UTF-8 text." in done.out
    assert sorted(note["text"] for note in everything(shell)) == ["good", "plain"]


def test_notes_with_an_id_that_another_has_are_named(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"---\nid: twin\n---\n{name}", encoding="utf-8")
    done = shell("notes", "import", str(folder))
    assert (done.code, done.err) == (1, "")
    assert "Left out: b.md has the same id as a.md.\nAdded 1 notes" in done.out
    assert "1 were left out" in done.out
    entries = [{"id": "f00d", "content": "1"}, {"content": "2"}, {"content": "3"}]
    export = {"activeNotes": entries, "trashedNotes": entries[:1]}
    (tmp_path / "notes.json").write_text(json.dumps(export))
    done = shell("notes", "import", str(tmp_path / "notes.json"))
    assert "trashedNotes[0] has the same id as activeNotes[0].\nAdded 3 notes" in done.out
    assert sorted(note["text"] for note in everything(shell)) == ["1", "2", "3", "a"]


def test_simplenotes_archive_is_read(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    export = {"activeNotes": [{"id": "f00d", "content": "from Simplenote"}], "trashedNotes": []}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("source/notes.json", json.dumps(export))
    assert shell("notes", "import", str(path)).code == 0
    assert call(shell, "note_get", id="f00d")["text"] == "from Simplenote"


def test_simplenotes_archive_is_read_as_such_when_unpacked(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "export"
    (folder / "source").mkdir(parents=True)
    (folder / "trash").mkdir()
    active = {
        "id": "f00d",
        "content": "kept",
        "tags": ["a"],
        "lastModified": "2019-02-01T00:00:00Z",
    }
    export = {"activeNotes": [active], "trashedNotes": [{"id": "dead", "content": "thrown away"}]}
    (folder / "kept.txt").write_text("kept\n\nTags:\n  a\n")
    (folder / "trash" / "thrown away.txt").write_text("thrown away")
    (folder / "source" / "notes.json").write_text("[]")
    assert "Added 2 notes" in shell("notes", "import", str(folder)).out
    shell.set("ROLLTOP_DATA_DIR", str(tmp_path / "another"))
    (folder / "source" / "notes.json").write_text(json.dumps(export))
    done = shell("notes", "import", str(folder))
    assert done.out.startswith("This is Simplenote's export: source/notes.json is read")
    found = [(note["id"], note["text"], note["tags"], note["trash"]) for note in everything(shell)]
    assert found == [("dead", "thrown away", [], True), ("f00d", "kept", ["a"], False)]


@pytest.mark.parametrize("name", ["missing", "empty.zip", "damaged.zip", "page.json"])
def test_what_is_no_export_is_said_in_one_line(shell: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("zip"):
        member = "readme.txt" if name == "empty.zip" else "source/notes.json"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, "{}" * 100)
        path.write_bytes(path.read_bytes().replace(b"\xab\xae", b"\xff\xff", 1))
    elif name.endswith("json"):
        path.write_text("<html>", encoding="utf-8")
    done = shell("notes", "import", str(path))
    assert done.code == 1
    assert done.err.count("\n") == 1
    assert "Traceback" not in done.err


@pytest.mark.parametrize("command", ["notes export", "export"])
@pytest.mark.parametrize("place", ["w" * 300, "file/below"])
def test_a_place_that_no_folder_can_have_is_named(filled: Shell, command: str, place: str) -> None:
    (filled.folder / "file").write_text("in the way")
    done = filled(*command.split(), place)
    assert (done.code, done.err.count("\n"), "something failed" in done.err) == (1, 1, False)
    assert place in done.err


@pytest.mark.parametrize("place", ["out", "out.json"])
def test_notes_that_an_export_has_not_are_told(filled: Shell, place: str) -> None:
    filled.set("SIMPLENOTE_USERNAME", "ada@example.org")
    filled.set("SIMPLENOTE_TOKEN", "walrus")
    done = filled("notes", "export", place)
    assert done.code == 0
    assert f"or of none, that are not in it: {len(TEXTS)}." in done.out
