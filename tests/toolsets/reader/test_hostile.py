"""Files nobody wishes for: every one is answered, within its bounds."""

from __future__ import annotations

import os
import random
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rolltop.core import token_counter
from rolltop.workspace import Roots

if TYPE_CHECKING:
    from tests.toolsets.reader.shelf import Shelf

_RNG = random.Random(5)  # noqa: S311  # made-up text
_MEGABYTE = 1_000_000


def _words(count: int) -> str:
    return " ".join(_RNG.choices(("ab", "cde", "fghi", "jklmn", "O", "12"), k=count))


FILES: dict[str, tuple[str, str | bytes]] = {
    "one line of a megabyte": ("line.txt", _words(_MEGABYTE // 4)),
    "one letter, a megabyte": ("letter.txt", "a" * _MEGABYTE),
    "one line in Markdown": ("line.md", "# T\n\n" + _words(_MEGABYTE // 8)),
    "one sentence of 40,000 tokens": ("sentence.md", "The " + _words(40_000) + ".\n"),
    "a hundred thousand blank lines": ("blank.txt", "\n" * 100_000),
    "only line breaks of DOS": ("dos.txt", "\r\n" * 50_000),
    "eight thousand headings": (
        "headings.md", "".join(f"{'#' * (n % 6 + 1)} Heading {n}\n" for n in range(8_000)),
    ),
    "headings without titles": ("untitled.md", "#\n" * 10_000),
    "one title ten thousand times": ("same.md", "# Same\n\ntext\n\n" * 10_000),
    "titles of emoji": (
        "emoji.md", "".join(f"# {'🧗🏽‍♀️' * 30}{n}\n\nText.\n\n" for n in range(300)),
    ),
    "a title of a megabyte": ("title.md", f"# {_words(_MEGABYTE // 4)}\n\nText.\n"),
    "deep quotes": ("quotes.md", ">" * 20_000 + " text\n" + _words(20_000)),
    "brackets": ("brackets.md", "[" * 50_000 + "\n" + _words(20_000)),
    "unclosed emphasis": ("stars.md", "*a **b _c `d " * 10_000),
    "unclosed tags": ("tags.html", "<p" * 50_000 + "<script>" * 5_000 + _words(10_000)),
    "an unclosed tag with attributes": ("tag.html", "<h1>Page</h1>\n<img" + ' a="v"' * 10_000),
    "unclosed data": ("data.html", "<![CDATA[" * 50_000 + "<h1>Page</h1>\n" + _words(10_000)),
    "an endless reference": ("reference.html", f"<p>&#{'1' * 5_000}; {_words(10_000)}</p>"),
    "a row of full stops": ("row.md", "# T\n\n" + "a ..." + "." * 200_000 + _words(10_000)),
    "an unclosed fence": ("fence.md", "# T\n\n```\n" + "code line\n" * 20_000),
    "a fence that is the whole": ("code.md", "```\n" + "x = 1\n" * 10_000 + "```\n"),
    "full stops": ("dots.txt", ". " * 50_000),
    "a table": ("table.md", "| a | b |\n|---|---|\n" + "| cell one | cell two |\n" * 5_000),
    "a list of links": ("links.md", "- [one name](https://example.org/a/b/c)\n" * 3_000),
    "nested JSON": ("deep.json", "[" * 50_000 + "]" * 50_000),
    "wide JSON": ("wide.json", "{" + ",".join(f'"k{n}": {n}' for n in range(8_000)) + "}"),
    "one Python line": ("long.py", "x = [" + "1, " * 50_000 + "]\n"),
    "broken Python": ("broken.py", "def f(:\n  '''\n" + "    x = (\n" * 20_000),
    "a log": ("server.log", "".join(
        f"2026-01-31 12:00:{n % 60:02d} ERROR worker {n} failed to open the socket of the queue\n"
        for n in range(3_000)
    )),
    "Chinese": ("zh.md", "# 标题\n\n" + "这是一个关于灯笼和港口的句子,它说明了很多事情。" * 2_000),
    "UTF-16": ("utf16.txt", ("Über den Hafen fahren viele kleine Schiffe am Abend.\n" * 2_000)
               .encode("utf-16")),
    "Latin-1": ("latin1.txt", ("Über den Hafen fahren viele kleine Schöffen.\n" * 2_000)
                .encode("latin-1")),
    "a mark and nothing else": ("mark.txt", b"\xef\xbb\xbf"),
    "nothing": ("nothing.txt", b""),
    "controls": ("controls.txt", "\x0b\x0c\x1b[0m text and words\n" * 4_000),
    "separators": ("separators.txt", "a line\u2028another\x85more words here\r\n" * 4_000),
    "special tokens": ("special.md", "<|endoftext|><|fim_prefix|> words and words.\n" * 3_000),
}  # fmt: skip


@pytest.mark.parametrize("what", FILES)
def test_each_is_read_within_its_bounds(shelf: Shelf, what: str) -> None:
    name, data = FILES[what]
    shelf.put(name, data)
    counted = shelf.ok("estimate_tokens", file_path=name)["tokens"]
    answer = shelf.ok("smart_read", file_path=name)
    if counted > 10_000:
        assert answer["type"] == "summary"
        assert answer["summary_tokens"] * 10 < counted == answer["original_tokens"]
        assert token_counter.count(answer["content"]) <= 800
        assert len(answer["sections"]["headers"]) <= 20
        assert all(len(header) <= 60 for header in answer["sections"]["headers"])
    else:
        assert answer["type"] == "full"
    for style in ("extractive", "abstract"):
        short = shelf.ok("smart_read", file_path=name, summary_style=style, max_summary_tokens=100)
        assert short["type"] == "full" or token_counter.count(short["content"]) <= 100
    part = shelf.ok("smart_read", file_path=name, mode="full", max_tokens=300)
    if "next" in part:
        shelf.ok("smart_read", **part["next"]["arguments"])


@pytest.mark.parametrize("what", FILES)
def test_each_has_an_outline_that_pages_and_reads(shelf: Shelf, what: str) -> None:
    name, data = FILES[what]
    shelf.put(name, data)
    answer = shelf.ok("list_sections", file_path=name, max_tokens=2_000)
    assert len(answer["outline"]) <= answer["count"]
    if answer["count"]:
        last = answer["outline"][-1]
        read = shelf.ok("read_section", file_path=name, section_heading=last["id"], max_tokens=600)
        assert read["id"] == last["id"]
    if answer["count"] > len(answer["outline"]):
        following = shelf.ok("list_sections", **answer["next"]["arguments"])
        assert following["outline"][0]["start_line"] >= answer["outline"][-1]["start_line"]


def test_nothing_but_regular_files_is_opened(shelf: Shelf) -> None:
    os.mkfifo(shelf.folder / "fifo.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(shelf.folder / "s"))
        for name in ("fifo.md", "s", "."):
            assert shelf.fails("smart_read", file_path=name)["code"] == "FILE_UNREADABLE"


def test_what_the_kernel_refuses_to_read_is_unreadable(shelf: Shelf, tmp_path: Path) -> None:
    shelf.desk.roots = Roots.open({"docs": Path("/proc/self")}, base=tmp_path)
    asked = {"file_paths": ["mem"], "query": "name", "budget_tokens": 500}
    assert shelf.fails("smart_read", file_path="mem")["code"] == "FILE_UNREADABLE"
    assert shelf.fails("read_plan", **asked)["code"] == "FILE_UNREADABLE"


def test_links_out_of_the_root_are_refused(shelf: Shelf) -> None:
    outside = shelf.folder.parent / "outside.md"
    outside.write_text("# Secret\n")
    (shelf.folder / "link.md").symlink_to(outside)
    assert shelf.fails("smart_read", file_path="link.md")["code"] == "PATH_OUT_OF_ROOT"


def test_the_servers_own_store_is_not_there(tmp_path: Any, shelf: Shelf) -> None:
    data = shelf.folder / "data"
    shelf.put("data/desk.db", b"text")
    shelf.desk.roots = Roots.open({"docs": shelf.folder}, base=tmp_path, hidden_stores=[data])
    assert shelf.fails("smart_read", file_path="data/desk.db")["code"] == "FILE_NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("x" * 100_000, "FILE_NOT_FOUND"),
        ("\u200b" * 3_000, "FILE_NOT_FOUND"),
        ("/etc/" + "x/" * 900, "PATH_OUT_OF_ROOT"),
        ("/" * 3_000, "PATH_OUT_OF_ROOT"),
    ],
)
def test_a_long_path_is_repeated_in_part(shelf: Shelf, path: str, code: str) -> None:
    error = shelf.fails("smart_read", file_path=path)
    assert error["code"] == code
    assert "…" in error["error"]
    assert len(error["error"]) < 2_000
    usual = "/".join(["a folder of a project"] * 8) + "/guide.md"
    assert usual in shelf.fails("smart_read", file_path=usual)["error"]


@pytest.mark.parametrize(
    ("data", "code"), [(b"%PDF-1.7 broken", "FILE_UNREADABLE"), (b"\x7fELF\0\0", "FILE_BINARY")]
)
def test_a_plan_names_the_file_that_cannot_be_read(shelf: Shelf, data: bytes, code: str) -> None:
    shelf.put("good.md", "# Good\n")
    shelf.put("bad.pdf", data)
    files = ["good.md", "bad.pdf"]
    error = shelf.fails("read_plan", file_paths=files, query="a b", budget_tokens=300)
    assert (error["code"], error["path"]) == (code, "bad.pdf")
