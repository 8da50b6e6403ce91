"""What the reader's tools answer."""

from __future__ import annotations

from bisect import bisect_right
from itertools import islice
from typing import TYPE_CHECKING, Final

from rolltop.core import budget, tokens
from rolltop.core import cursor as cursors
from rolltop.core.budget import Page, Text
from rolltop.core.errors import Invalid, NotFound
from rolltop.toolsets.reader import sections
from rolltop.toolsets.reader.models import LONGEST_SHOWN, MOST_FILES
from rolltop.toolsets.reader.service.documents import Opened, open_document
from rolltop.toolsets.reader.service.plans import plan_answer
from rolltop.toolsets.reader.service.summaries import summary_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rolltop.core.call import Call
    from rolltop.core.roots import Root, Roots
    from rolltop.core.text.outline import Section
    from rolltop.toolsets.reader.models import Encoding, JsonObject, Mode, Style

_CURSOR: Final = "sections"
_MARK: Final = 12
"""Digits of a content's hash in a cursor: enough to tell a file's states apart, and short."""
_LONGEST_TOKEN: Final = 128
"""Characters: no token stands for more, so a budget of n tokens takes at most 128 n."""
_LEAST_ENTRY: Final = 20
"""Tokens: no entry of an outline takes fewer."""
_MOST_ALSO: Final = 20
_SHARE_OF_ALSO: Final = 4
"""At most this part of a budget goes to other sections that answer to a heading."""
_MOST_COMPLETED: Final = 100
_MOST_WALKED: Final = 5_000
_SUGGESTED: Final = 5
_UNSHORTENED: Final = "A summary would not be shorter: this is the document itself."
_NOTE: Final = "read_section takes an id, a title or a number."
_ASK_ANOTHER: Final = (
    "Ask for one of the suggestions by its id, or call list_sections for all of them."
)
_NO_HEADINGS: Final = "The document has no sections; smart_read reads it."


async def smart_read(
    call: Call, path: str, mode: Mode, style: Style, bound: int, place: tuple[int, int] | None
) -> JsonObject | Text:
    """Return a document, or its summary where it is long or one is asked for.

    `place` is the line and the character to read from; it means the full text from there.
    """
    opened = await open_document(call, path)
    if place is not None:
        return _full(opened, call.budget, place)
    long = opened.tokens > call.desk.settings["reader.threshold_tokens"]
    if mode == "full" or (mode == "auto" and not long):
        return _full(opened, call.budget, (1, 0))
    tools = _offered(call, "list_sections", "read_section", "smart_read")
    summary = await call.work(summary_answer, opened, style, bound, call.budget, tools)
    return summary or _full(opened, call.budget, (1, 0), note=_UNSHORTENED)


async def read_section(call: Call, path: str, heading: str, char_start: int) -> Text:
    """Return the section that the heading means, from a character on.

    Raises:
        Invalid: the heading is blank, or the section has no such character.
        NotFound: SECTION_NOT_FOUND, with the nearest sections.

    """
    if not heading.strip().strip("#").strip():
        raise Invalid(
            "section_heading is blank", hint="list_sections shows the ids and titles to ask for."
        )
    opened = await open_document(call, path)
    choice = await call.work(sections.choose, opened.sections, heading)
    if choice is None:
        raise await call.work(_not_found, opened, heading)
    start, end = opened.offsets(choice.section)
    _check_place(char_start, end - start, "section")
    fixed = _section_fields(opened, choice.section, heading)
    if not char_start:  # the calls that read on need not be told again
        fixed |= _equals(choice.also, call.budget)
    text, more = _window(opened.text, start + char_start, end, call.budget)
    return Text(
        text,
        lambda part: {"content": part, **fixed},
        lambda taken: {"char_start": char_start + taken},
        more,
    )


async def list_sections(call: Call, path: str, max_level: int) -> Page:
    """Return the document's sections down to a level, from the call's cursor on."""
    opened = await open_document(call, path, with_text=False)
    listed = [at for at, s in enumerate(opened.sections) if s.level <= max_level]
    first = _cursor_place(call.cursor, opened, max_level)
    room = call.budget // _LEAST_ENTRY + 1 if call.budget else len(listed)
    shown = listed[first : first + room]
    note = _list_note(opened)

    def envelope(items: list[JsonObject]) -> JsonObject:
        return {
            "sections": [item["title"] for item in items],
            "count": len(listed),
            "type": "toc",
            "path": opened.path,
            "note": note,
            "outline": items,
        }

    def cursor_after(index: int) -> str:
        return cursors.encode(_CURSOR, [opened.content[:_MARK], max_level, first + index + 1])

    entries = [_entry(opened, at) for at in shown]
    return Page(entries, envelope, cursor_after, more=first + len(shown) < len(listed))


async def estimate_tokens(
    call: Call, text: str | None, path: str | None, encoding: Encoding
) -> JsonObject:
    """Return the tokens of a text or of a document."""
    if (text is None) == (path is None):
        raise Invalid(
            "Give either text or file_path", hint="Call estimate_tokens with exactly one of them."
        )
    if text is not None:
        counted = await call.work(tokens.count, text, encoding)
    else:
        # The store keeps what a document has in the encoding of all other counts.
        opened = await open_document(call, path or "", with_text=encoding != "cl100k_base")
        counted = await call.work(opened.count, encoding)
    return {"tokens": counted, "encoding": encoding}


async def read_plan(call: Call, paths: Sequence[str], query: str, room: int) -> JsonObject:
    """Return the sections of the documents that answer a query best, within `room` tokens."""
    if not 1 <= len(paths) <= MOST_FILES:
        raise Invalid(
            f"file_paths must list 1 to {MOST_FILES} files; got {len(paths)}",
            hint=f"Call read_plan again with 1 to {MOST_FILES} files.",
        )
    documents: dict[str, Opened] = {}
    for done, path in enumerate(paths):
        opened = await open_document(call, path)
        documents[opened.path] = opened
        call.report(done + 1, len(paths), "read")
    found = list(documents.values())
    reading = next(iter(_offered(call, "read_section", "smart_read")), None)
    return await call.work(plan_answer, found, query, room, call.budget, reading)


async def section_text(call: Call, path: str, section_id: str) -> str:
    """Return the text of the section of that id.

    Raises:
        NotFound: SECTION_NOT_FOUND, with the nearest sections.

    """
    opened = await open_document(call, path)
    found = next((s for s in opened.sections if s.id == section_id), None)
    if found is None:
        raise await call.work(_not_found, opened, section_id)
    start, end = opened.offsets(found)
    return opened.text[start:end]


async def section_ids(call: Call, path: str, prefix: str) -> list[str]:
    """Return the ids of a document's sections whose id or title starts so, in order."""
    opened = await open_document(call, path, with_text=False)
    asked = sections.normal(prefix)
    return [
        section.id
        for section in opened.sections
        if section.id.startswith(prefix) or sections.normal(section.title).startswith(asked)
    ]


async def completions(
    call: Call, variable: str, prefix: str, context: Mapping[str, str]
) -> list[str]:
    """Return the values of a section's root, path or id that begin so, in order."""
    roots = call.desk.roots
    if variable == "root":
        return [root.name for root in roots.named if root.name.startswith(prefix)]
    root = next((root for root in roots.named if root.name == context.get("root")), None)
    if root is None:
        return []
    if variable == "path":
        return await call.work(_paths, roots, root, prefix)
    return await section_ids(call, f"{root.name}/{context.get('path', '')}", prefix)


def _paths(roots: Roots, root: Root, prefix: str) -> list[str]:
    """Return a root's files whose path begins so, of the first few thousand in its folder."""
    folder = prefix.rpartition("/")[0]
    files = islice(roots.walk(root, under=folder), _MOST_WALKED)
    found = (entry.relative for entry in files if entry.relative.startswith(prefix))
    return list(islice(found, _MOST_COMPLETED))


def _offered(call: Call, *tools: str) -> list[str]:
    """Return those of the tools that this server offers."""
    return [tool for tool in tools if call.desk.registry.offers([tool])]


def _list_note(opened: Opened) -> str:
    """Return what to know of a list of sections."""
    note = _NOTE if opened.sections else _NO_HEADINGS
    if opened.document.outline.parts:
        note = f"No headings: equal parts. {note}"
    return " ".join(part for part in (note, opened.document.note) if part)


def _full(opened: Opened, limit: int, place: tuple[int, int], note: str = "") -> Text:
    """Return the document's text from a line and a character in it on."""
    line, char = place
    lines = len(opened.starts)
    if line > max(1, lines):
        raise Invalid(
            f"line_start {line} is beyond the last line, {lines}",
            hint=f"Call smart_read again with line_start from 1 to {max(1, lines)}.",
        )
    first = opened.starts[line - 1] if lines else 0
    _check_place(char, len(opened.text) - first, "text from there")
    fixed: JsonObject = {"type": "full", "tokens": opened.tokens, "path": opened.path}
    notes = [part for part in (note, opened.document.note) if part]
    if notes:
        fixed["note"] = " ".join(notes)
    text, more = _window(opened.text, first + char, len(opened.text), limit)
    return Text(
        text,
        lambda part: {"content": part, **fixed},
        lambda taken: _line_and_char(opened, first + char + taken),
        more,
    )


def _window(text: str, start: int, end: int, limit: int) -> tuple[str, bool]:
    """Return the part of a text that a budget could hold, and whether more follows."""
    last = min(end, start + limit * _LONGEST_TOKEN) if limit else end
    return text[start:last], last < end


def _line_and_char(opened: Opened, offset: int) -> dict[str, object]:
    """Return the arguments that read on at an offset."""
    line = bisect_right(opened.starts, offset)
    return {"line_start": line, "char_start": offset - opened.starts[line - 1]}


def _check_place(char_start: int, length: int, what: str) -> None:
    if char_start > length:
        raise Invalid(
            f"char_start {char_start} is beyond the {what}, which has {length} characters",
            hint=f"Call again with char_start from 0 to {length}.",
        )


def _section_fields(opened: Opened, section: Section, heading: str) -> JsonObject:
    """Return what an answer says of a section besides its text."""
    return {
        "type": "section",
        "section": _shown(heading),
        "heading_level": section.level,
        "tokens": opened.costs[opened.sections.index(section)],
        "start_line": section.start_line,
        "end_line": section.end_line,
        "id": section.id,
        "path_titles": list(section.title_path),
    }


def _equals(also: Sequence[Section], limit: int) -> JsonObject:
    """Return the sections that answer to a heading as well: the first, and how many there are."""
    if not also:
        return {}
    shown = [
        {**_named(other), "path_titles": list(other.title_path)} for other in also[:_MOST_ALSO]
    ]
    while len(shown) > 1 and not budget.within(shown, limit // _SHARE_OF_ALSO):
        shown.pop()
    return {"also": shown, **({"also_count": len(also)} if len(shown) < len(also) else {})}


def _not_found(opened: Opened, heading: str) -> NotFound:
    shown = _shown(heading)
    near = sections.suggestions(opened.sections, heading, _SUGGESTED)
    return NotFound(
        f"Section '{shown}' not found in document",
        code="SECTION_NOT_FOUND",
        hint=_ASK_ANOTHER if opened.sections else _NO_HEADINGS,
        data={
            "content": f"ERROR: Section '{shown}' not found",
            "section": shown,
            "suggestions": [_named(section) for section in near or opened.sections[:_SUGGESTED]],
        },
    )


def _shown(heading: str) -> str:
    return heading if len(heading) <= LONGEST_SHOWN else heading[: LONGEST_SHOWN - 1] + "…"


def _named(section: Section) -> JsonObject:
    return {"id": section.id, "title": section.title, "start_line": section.start_line}


def _entry(opened: Opened, at: int) -> JsonObject:
    section = opened.sections[at]
    return {
        "id": section.id,
        "title": section.title,
        "level": section.level,
        "start_line": section.start_line,
        "end_line": section.end_line,
        "tokens": opened.costs[at],
    }


def _cursor_place(cursor: str | None, opened: Opened, max_level: int) -> int:
    """Return how many entries a cursor passes over.

    Raises:
        Invalid: it is none of this list, or the file has changed since.

    """
    if cursor is None:
        return 0
    values = cursors.decode(_CURSOR, cursor, code="INVALID_ARGUMENT")
    match values:
        case [str(mark), int(level), int(place)] if (
            mark == opened.content[:_MARK] and level == max_level and place >= 0
        ):
            return place
        case _:
            raise Invalid(
                "The file or max_level changed since the cursor was answered",
                hint="Call list_sections again without cursor.",
            )
