"""What an address leads to, in one shape for all kinds, and how it fits a budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from rolltop.core import pagination
from rolltop.core.addresses import Address
from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext, CallContext
from rolltop.core.db import Tx
from rolltop.core.errors import InvalidArgument
from rolltop.core.pagination import Continuation, Page, TextPage, add_continuation
from rolltop.core.text.lines import TextLines
from rolltop.core.tools import Toolset
from rolltop.documents.outline import detect_file_type, parse_outline
from rolltop.toolsets.desk.models import JsonObject
from rolltop.toolsets.notes import TOOLSET as NOTES
from rolltop.toolsets.scratch import TOOLSET as SCRATCH
from rolltop.toolsets.tasks import TOOLSET as TASKS

Lines = tuple[int, int] | None
ResumeAt = Callable[[int, int, int], dict[str, object]]

MAX_OUTLINED_BYTES: Final = 1 << 18
"""Longer texts are shown without the titles around their lines: to find them takes too long."""
MAX_TITLE_LENGTH: Final = 200
_MAX_HEADINGS: Final = 6
_MAX_CANDIDATES: Final = 5  # addresses that an error names
_TITLED: Final = (("task", TASKS), ("pad", SCRATCH), ("note", NOTES))
_EXTENSIONS: Final = {"markdown": "md", "python": "py"}


@dataclass(frozen=True)
class Opened:
    """What is at an address now; `address` names the version that is shown.

    `became` says what happened to what was asked for. `source` gives the rest of the answer, which
    may be cut; the tool `tool` reads on with `arguments` and what `source` changes in them. Of a
    record, `record_id` is the whole id. A pad has its `cell_ids`, and when it or one was changed.
    """

    address: Address
    title: str
    fields: JsonObject = field(default_factory=dict[str, Any])
    became: tuple[str, ...] = ()
    source: Page | TextPage | None = None
    tool: str = ""
    arguments: JsonObject = field(default_factory=dict[str, Any])
    record_id: str = ""
    cell_ids: tuple[str, ...] = ()
    changed_at: datetime | None = None

    def answer(self, call: CallContext) -> JsonObject:
        """Return the answer within the call's budget."""
        head: JsonObject = {
            "uri": self.address.text,
            "kind": self.address.kind,
            "title": _truncate_title(self.title),
            **({"became": "; ".join(self.became)} if self.became else {}),
            **{name: value for name, value in self.fields.items() if value},
        }
        if self.source is None:
            return head
        inner: Callable[[Any], JsonObject] = self.source.envelope

        def envelope(part: Any) -> JsonObject:  # noqa: ANN401  # a list's items or a text
            return {**head, **inner(part)}

        def finish(part: JsonObject, changed: dict[str, object], cursor: str | None) -> JsonObject:
            if not call.app.registry.has_tools([self.tool]):
                return {**part, "truncated": True}
            # The one who asked for less than is allowed asks for as little of what follows.
            asked = {} if call.budget == call.max_budget else {"max_tokens": call.budget}
            arguments = {**self.arguments, **asked, **changed}
            return add_continuation(part, Continuation(self.tool, arguments, cursor))

        return pagination.truncate(replace(self.source, envelope=envelope), call.budget, finish)


def text_lines(
    text: str, lines: Lines, resume_at: ResumeAt, begin: tuple[int, ...] | None = None
) -> tuple[TextPage, Lines, str]:
    """Select lines of a text; return them, their numbers (None: all) and what became of others.

    `resume_at(line, character, left)` returns the arguments that go on there, with so many lines
    left (0: all). With `begin`, a line and a character of it, what is before is left out.
    """
    whole = TextLines(text)
    total = len(whole)
    first, last, became = clamp_lines(lines, total)
    start, end = whole.span(first, last)
    if begin is not None:
        line, char = begin
        start = min(whole.span(min(line, max(total, 1)), total)[0] + char, end)

    def envelope(part: str) -> JsonObject:
        if lines is None and len(part) == len(text):
            return {"text": part}
        line = whole.line_at(start)
        shown = whole.line_at(start + max(len(part), 1) - 1)
        places = {"line_start": line, "line_end": shown, "total_lines": total}
        return {**places, "text": part}

    def resume(taken: int) -> dict[str, object]:
        line = whole.line_at(start + taken)
        left = last - line + 1 if lines else 0
        return resume_at(line, start + taken - whole.span(line, line)[0], left)

    page = TextPage(text[start:end], envelope, resume)
    return page, (first, last) if lines else None, became


def clamp_lines(lines: Lines, total: int) -> tuple[int, int, str]:
    """Return the lines that are there of those asked for, else as many at the end, and why."""
    if lines is None:
        return 1, max(total, 1), ""
    first, last = lines
    if first <= total or not total:
        return min(first, max(total, 1)), min(last, max(total, 1)), ""
    first, last = max(1, total - (last - first)), total
    return first, last, f"L{lines[0]}-{lines[1]} are gone: there are {total} lines now"


def file_name(language: str) -> str:
    """Return the name of a file that a cell of a language would be."""
    return f"cell.{_EXTENSIONS.get(language, language)}"


def find_titles(text: str, name: str, line: int) -> list[str]:
    """Return the titles around a line of a text that is named like a file, the outermost first."""
    if len(text) > MAX_OUTLINED_BYTES:
        return []
    kind = detect_file_type(name, text)
    outline = parse_outline(text, kind)
    if kind == "text" or outline.is_divided:
        return []
    around = [one for one in outline.sections if one.start_line <= line <= one.end_line]
    return [_truncate_title(title) for title in around[-1].title_path] if around else []


def titles_of(entries: list[JsonObject], line: int) -> list[str]:
    """Return the titles around a line from the entries of an outline, the outermost first."""
    around = [one for one in entries if one["start_line"] <= line <= one["end_line"]]
    return [_truncate_title(one["title"]) for one in around[:_MAX_HEADINGS]]


def first_line(text: str) -> str:
    """Return the first line of a text that is not blank, without a heading's marks."""
    lines = (line.strip() for line in text[: 8 * MAX_TITLE_LENGTH].splitlines())
    return next((line.lstrip("# ") for line in lines if line.strip("# ")), "")


def format_minute(moment: datetime) -> str:
    """Return a moment in UTC to the minute: who did something needs no more."""
    return f"{moment:%Y-%m-%dT%H:%MZ}"


def choose_one(name: str, given: str, found: Collection[str]) -> str:
    """Return the one of the addresses found that the given one is, or is the beginning of.

    Raises InvalidArgument for the beginning of several; there must be one.
    """
    if given not in found and len(found) > 1:
        some = ", ".join(sorted(found)[:_MAX_CANDIDATES])
        raise InvalidArgument(
            f"{name} {value_preview(given)} is the beginning of several ids: {some}",
            hint=f"Send one of them as {name}.",
        )
    return given if given in found else min(found)


def use_tool(toolset: Toolset, name: str) -> Callable[..., Any]:
    """Return the function of a toolset's tool."""
    return next(tool.function for tool in toolset.tools if tool.name == name)


def find_service(app: AppContext, toolset: Toolset) -> Any | None:  # noqa: ANN401  # the caller names the class
    """Return a toolset's service, if this server has the toolset."""
    return app.load_service(toolset.service) if app.has_toolset(toolset.name) else None


def read_titles(
    tx: Tx, app: AppContext, things: Iterable[tuple[str, str]], project: str = ""
) -> dict[tuple[str, str], str | None]:
    """Map tasks, pads and notes, by kind and id, to their titles; None if another project's.

    No project stands for all.
    """
    ids = defaultdict[str, list[str]](list)
    for kind, ref in dict.fromkeys(things):
        ids[kind].append(ref)
    titles = dict[tuple[str, str], str | None]()
    for kind, toolset in _TITLED:
        if ids[kind] and (service := find_service(app, toolset)) is not None:
            found = service.find_titles(tx, ids[kind], project)
            titles |= {(kind, ref): title for ref, title in found.items()}
    return titles


def _truncate_title(title: str) -> str:
    return title if len(title) <= MAX_TITLE_LENGTH else f"{title[: MAX_TITLE_LENGTH - 1]}…"
