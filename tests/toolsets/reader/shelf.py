"""A folder of documents with a desk that reads it, and documents to put there."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rolltop.core import token_counter
from rolltop.core.db import Database
from rolltop.core.dispatch import ToolSelection
from rolltop.core.principal import Principal
from rolltop.workspace import Roots
from tests.desks import call_tool, make_desk

if TYPE_CHECKING:
    from pathlib import Path

    from rolltop.core.context import AppContext

SOMEBODY = Principal.for_user("00000000-0000-4000-8000-000000000001")
_WORD_LIST = (
    "river stone bridge lantern harbour copper signal market garden winter engine mirror cloud "
    "ladder paper window island thunder velvet anchor compass meadow pepper candle whistle"
)
_WORDS = _WORD_LIST.split()


@dataclass
class Shelf:
    """One root, `docs`, and the tools that read it."""

    folder: Path
    desk: AppContext

    def put(self, name: str, text: str | bytes) -> Path:
        """Write a file and return its path."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def ok(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the answer of a call that must succeed within its budget."""
        answer = call_tool(self.desk, SOMEBODY, tool, **arguments)
        assert not answer.is_error, answer.text
        assert token_counter.count(answer.text) <= arguments.get("max_tokens", 20_000)
        return answer.structured

    def fails(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the error of a call that must fail, which says what to do next."""
        answer = call_tool(self.desk, SOMEBODY, tool, **arguments)
        assert answer.is_error, answer.text
        error = answer.structured
        assert error["type"] == "error"
        assert error["error"]
        assert error["hint"]
        return error

    def whole(self, tool: str, **arguments: Any) -> str:
        """Return the content of all the answers that `next` leads to, joined."""
        parts: list[str] = []
        while True:
            answer = self.ok(tool, **arguments)
            parts.append(answer["content"])
            if "next" not in answer:
                return "".join(parts)
            assert answer["truncated"] is True
            assert answer["content"]
            assert answer["next"]["tool"] == tool
            arguments = answer["next"]["arguments"]


def make_shelf(
    folder: Path, database: Database | None = None, settings: dict[str, Any] | None = None
) -> Shelf:
    """Return a shelf in a folder; without a database, on a store that is never opened."""
    folder.mkdir(parents=True, exist_ok=True)
    store = database or Database(f"sqlite:///{folder.parent / 'unopened' / 'desk.db'}")
    roots = Roots.open({"docs": folder}, base=folder)
    return Shelf(folder, make_desk(store, roots=roots, settings=settings))


def offering(shelf: Shelf, *tools: str) -> Shelf:
    """Return the shelf as a server shows it that offers only these tools."""
    desk = make_desk(
        shelf.desk.database, roots=shelf.desk.roots, selection=ToolSelection(tools=tools)
    )
    return Shelf(shelf.folder, desk)


def sentence(rng: random.Random, words: int = 12) -> str:
    """Return a sentence of made-up but plausible words."""
    chosen = [rng.choice(_WORDS) for _ in range(words)]
    return f"The {' '.join(chosen)}."


def sentences(count: int, seed: int) -> list[str]:
    """Return so many sentences, the same ones for a seed."""
    rng = random.Random(seed)  # noqa: S311  # made-up text
    return [sentence(rng) for _ in range(count)]


def paper(sections: int = 40, seed: int = 7, paragraphs: int = 4) -> str:
    """Return a long Markdown paper with keywords, an abstract, code, a table and findings."""
    rng = random.Random(seed)  # noqa: S311  # made-up text
    parts = [
        "# A study of lanterns\n",
        "**Keywords:** lanterns, harbour lights, copper\n",
        "## Abstract\n",
        (
            "We study how lanterns guide ships into a harbour at night. "
            "Our results show that copper lanterns are seen from twice the distance.\n"
        ),
    ]
    for number in range(1, sections + 1):
        parts.append(f"## {number}. Section on {rng.choice(_WORDS)}\n")
        parts += [" ".join(sentence(rng) for _ in range(5)) + "\n" for _ in range(paragraphs)]
    parts.append("```python\n# not a heading\nlantern = 'copper lantern in a fence is code'\n```\n")
    parts.append("| lantern | range |\n|---|---|\n| copper lantern seen from far away | 9 |\n")
    parts.append("## Conclusion\n\nWe conclude that copper lanterns guide ships best.\n")
    return "\n".join(parts)


BODY = paper(40).split("## Abstract\n")[1].split("\n\n", 1)[1]
"""A long text that states nothing of itself."""
ABSTRACT = "We built a lamp that burns for nine nights. It needs no oil at all."


def summary(shelf: Shelf, text: str, name: str = "d.md", **more: Any) -> dict[str, Any]:
    """Return the summary of a text, put there under a name."""
    shelf.put(name, text)
    answer = shelf.ok("smart_read", file_path=name, **more)
    assert answer["type"] == "summary"
    return answer
