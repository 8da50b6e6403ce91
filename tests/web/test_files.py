"""Files of the roots on the page: read, never written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from docx import Document as WordDocument

from tests.web.visitor import Page, Site, Visitor

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    tree = tmp_path / "tree"
    (tree / "sub folder").mkdir(parents=True)
    (tree / "long.py").write_text("".join(f"line_{n} = {n}\n" for n in range(1, 1201)))
    (tree / "sub folder" / "guide#1.md").write_text("# Start\n\ntext\n\n## Water\n\nheron\n")
    (tree / "empty.txt").write_text("")
    (tmp_path / "secret.txt").write_text("secret")
    made = Site(tmp_path, retrieval__roots={"code": tree})
    yield made
    made.close()


def test_folders_lead_to_files_and_files_to_lines(ann: Visitor) -> None:
    assert "/files/code" in ann.get("/files").links()
    folder = ann.get("/files/code")
    assert {"/files/code/long.py", "/files/code/sub%20folder"} <= set(folder.links())
    links = ann.get("/files/code/sub%20folder").links()
    assert "/files/code/sub%20folder/guide%231.md" in links
    guide = ann.get("/files/code/sub%20folder/guide%231.md")
    assert "heron" in guide.text
    section = next(link for link in guide.links() if link.endswith("#L5"))
    assert ann.get(section.partition("#")[0]).status == 200
    page = ann.get("/files/code/long.py?line=900#L900".partition("#")[0])
    assert ("line_900 = 900" in page.text, "line_12 = " in page.text) == (True, False)
    assert ("span", {"class": "line asked", "id": "L900"}) in page.elements
    after = ann.get("/files/code/long.py")
    assert "line_501" not in after.text
    more = ann.get(next(link for link in after.links() if "?from=" in link))
    assert "line_501 = 501" in more.text
    assert ann.get("/files/code/empty.txt").status == 200


def lines_of(page: Page) -> list[int]:
    """Return the numbers of the lines that a page of a file shows."""
    ids = [given.get("id", "") for tag, given in page.elements if tag == "span"]
    return [int(one[1:]) for one in ids]


def test_a_line_that_is_not_there_any_more_leads_to_a_page_of_the_file(ann: Visitor) -> None:
    for gone in ("line=99999", "from=99999", "line=0", "from=0"):
        page = ann.get(f"/files/code/long.py?{gone}")
        assert (page.status, lines_of(page)) == (200, list(range(1, 501)))
        assert "Lines 1 to 500 of 1200" in page.text


def test_lines_and_sections_of_a_file_fill_one_page_at_most(ann: Visitor, tmp_path: Path) -> None:
    wide = "a\n" * 30 + "word " * 200_000 + "\n" + "b\n" * 30
    (tmp_path / "tree" / "wide.txt").write_text(wide)
    path, seen, cut = "/files/code/wide.txt", list[int](), list[bool]()
    while path:
        page = ann.get(path)
        seen += lines_of(page)
        cut.append("too long" in page.text)
        path = next((link for link in page.links() if link.endswith(f"from={seen[-1] + 1}")), "")
    assert (seen, cut) == (list(range(1, 62)), [False, True, False])
    (tmp_path / "tree" / "heads.md").write_text("# Head\n\ntext\n\n" * 5000)
    page = ann.get("/files/code/heads.md")
    assert "and more" in page.text
    assert 99 < len([link for link in page.links() if "#L" in link]) < 2000


def save_document(path: Path, paragraphs: list[str]) -> None:
    document = WordDocument()
    for text in paragraphs:
        document.add_paragraph(text)
    document.save(str(path))


@pytest.mark.parametrize("name", ["rows.txt", "rows.docx"])
def test_a_link_to_a_line_below_long_ones_leads_to_it(
    ann: Visitor, tmp_path: Path, name: str
) -> None:
    rows = ["word " * 5000] * 60
    (tmp_path / "tree" / "rows.txt").write_text("\n".join(rows))
    save_document(tmp_path / "tree" / "rows.docx", rows)
    page = ann.get(f"/files/code/{name}?line=51")
    assert ("span", {"class": "line asked", "id": "L51"}) in page.elements


def test_no_line_of_a_document_that_is_there_whole_is_said_to_be_cut(
    ann: Visitor, tmp_path: Path
) -> None:
    save_document(tmp_path / "tree" / "rows.docx", ["word " * 3000] * 30)
    path, seen = "/files/code/rows.docx", list[int]()
    while path:
        page = ann.get(path)
        assert "too long" not in page.text
        seen += lines_of(page)
        path = next((link for link in page.links() if link.endswith(f"from={seen[-1] + 1}")), "")
    assert seen == list(range(1, 60))


def test_an_exact_search_leads_to_the_line(ann: Visitor) -> None:
    page = ann.submit(ann.get("/files").form("/files"), query="line_77 =")
    (link,) = [link for link in page.links() if "long.py" in link]
    assert link == "/files/code/long.py?line=77#L77"
    page = ann.submit(ann.get("/files").form("/files"), query="^her.n", regex="1", file_glob="*.md")
    assert "guide#1.md:7" in page.text
    assert "No line has that" in ann.get("/files?query=zzqx").text
    assert ann.get("/files?query=(&regex=1").status == 400


def test_searches_say_what_was_not_searched_and_why(ann: Visitor, tmp_path: Path) -> None:
    page = ann.submit(ann.get("/files").form("/files"), query="heron", file_glob="*.rs")
    assert 'file_glob "*.rs" selects no file' in page.text
    assert "/files?query=heron" in ann.get("/files?query=heorn").links()
    (tmp_path / "tree").rename(tmp_path / "moved")
    page = ann.get("/search?q=heron")
    assert "Not every file was searched: Root directory of code no longer exists" in page.text


def test_a_document_shows_its_text(ann: Visitor, tmp_path: Path) -> None:
    save_document(tmp_path / "tree" / "birds.docx", ["Herons wade"])
    (tmp_path / "tree" / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0")
    assert "Herons wade" in ann.get("/files/code/birds.docx?line=1").text
    assert ann.get("/files/code/image.png").status == 400


def test_a_long_document_is_shown_by_its_lines(ann: Visitor, tmp_path: Path) -> None:
    paragraphs = [f"heron {number}." for number in range(1, 1201)]
    save_document(tmp_path / "tree" / "birds.docx", paragraphs)
    first = ann.get("/files/code/birds.docx")
    assert ("heron 1." in first.text, "heron 1100." in first.text) == (True, False)
    more = ann.get(next(link for link in first.links() if "?from=" in link))
    assert "heron 251." in more.text
    page = ann.get("/files/code/birds.docx?line=2001")
    (asked,) = [given["id"] for _, given in page.elements if given.get("class") == "line asked"]
    assert (asked, "heron 1001." in page.text, "heron 12." in page.text) == ("L2001", True, False)
    assert ann.get("/files/code/birds.docx?line=99999").status == 200


def test_a_large_folder_goes_on_on_further_pages(ann: Visitor, tmp_path: Path) -> None:
    folder = tmp_path / "tree" / "many files"
    folder.mkdir()
    names = [f"{number:04}.txt" for number in range(1500)]
    for name in names:
        (folder / name).write_text("a")
    path, pages = "/files/code/many%20files", list[list[str]]()
    while path:
        links = ann.get(path).links()
        pages.append([link.rpartition("/")[2] for link in links if link.endswith(".txt")])
        path = next((link for link in links if "cursor=" in link), "")
    assert [name for page in pages for name in page] == names
    assert len(pages) > 1


def test_an_address_of_a_file_leads_there(ann: Visitor) -> None:
    page = ann.get("/search?q=heron")
    assert any("guide" in link for link in page.links())


def test_what_is_outside_the_roots_is_not_there(ann: Visitor) -> None:
    for path in (
        "../secret.txt",
        "%2e%2e/secret.txt",
        "sub%20folder/../../secret.txt",
        "/etc/passwd",
        "no.txt",
    ):
        page = ann.get(f"/files/code/{path}")
        assert page.status in {400, 404}
        assert "secret" not in page.text.replace("secret.txt", "")
    assert ann.get("/files/nowhere/x").status == 404
