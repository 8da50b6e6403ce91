"""Markdown: counts of its elements, and lint warnings; no text is an error."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, Final

from pyromark import Options, events_with_range

from .results import MAX_DIAGNOSTICS, Diagnostic, SyntaxResult, position_at_byte

_FRONT_MATTER: Final = re.compile(
    rb"(?:\xef\xbb\xbf)?---[ \t]*\r?\n(?:(?!---[ \t]*\r?$).*\n)*?---[ \t]*(?:\r?\n|\Z)",
    re.MULTILINE,
)
# Everything but the ends of lines becomes a space.
_BLANK: Final = bytes(byte if byte == ord("\n") else ord(" ") for byte in range(256))
_FENCE: Final = re.compile(rb"[ \t>]*(`{3,}|~{3,})")
_REFERENCE: Final = re.compile(rb"\[(?P<text>(?:[^\[\]\\]|\\.)+)\](?:\[(?P<label>[^\[\]]*)\])")
_WORD: Final = re.compile(r"\w+(?:['\u2019\-]\w+)*")


@dataclass(slots=True)
class _MarkdownContents:
    """Elements of one text; offsets count UTF-8 bytes."""

    headings: list[tuple[int, int, str]] = field(default_factory=list[tuple[int, int, str]])
    links: int = 0
    code_blocks: int = 0
    fenced: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    words: int = 0
    masked: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])


def check(content: str, _language: str) -> SyntaxResult:
    """Build `analysis` {headings, links, code_blocks, words} and the lint warnings."""
    source = content.encode("utf-8", "replace")
    front_matter = _FRONT_MATTER.match(source)
    if front_matter is not None:
        source = front_matter.group().translate(_BLANK) + source[front_matter.end() :]
    contents = _read(source.decode())
    faults = [
        *_heading_faults(contents.headings),
        *_open_fences(source, contents.fenced),
        *_broken_references(source, contents.masked),
    ]
    faults.sort()
    analysis: dict[str, Any] = {
        "headings": len(contents.headings),
        "links": contents.links,
        "code_blocks": contents.code_blocks,
        "words": contents.words,
    }
    warnings = [
        Diagnostic(message, code, *position_at_byte(source, at))
        for at, message, code in faults[:MAX_DIAGNOSTICS]
    ]
    return SyntaxResult(warnings=warnings, analysis=analysis)


def _read(text: str) -> _MarkdownContents:
    contents = _MarkdownContents()
    heading: tuple[int, int] | None = None
    title: list[str] = []
    options = Options.ENABLE_TABLES | Options.ENABLE_TASKLISTS | Options.ENABLE_FOOTNOTES
    for event, span in events_with_range(text, options=options):
        kind, tag = _kind(event)
        if kind == "Start":
            _start(contents, tag, (span["start"], span["end"]))
            if "Heading" in tag:
                heading, title = (span["start"], int(tag["Heading"]["level"][1])), []
        elif kind == "End" and heading is not None and "Heading" in tag:
            contents.headings.append((*heading, "".join(title)))
            heading = None
        elif kind in {"Text", "Code"}:
            title.append(tag)
            if kind == "Code":
                contents.masked.append((span["start"], span["end"]))
            contents.words += len(_WORD.findall(tag))
        elif kind in {"Html", "InlineHtml", "FootnoteReference", "TaskListMarker"}:
            contents.masked.append((span["start"], span["end"]))
    return contents


def _kind(event: Any) -> tuple[str, Any]:  # noqa: ANN401  # one of two dozen shapes
    """Split an event into its name and its data."""
    if isinstance(event, str):
        return event, ""
    name, carried = next(iter(event.items()))
    return name, {carried: {}} if name == "Start" and isinstance(carried, str) else carried


def _start(contents: _MarkdownContents, tag: Any, span: tuple[int, int]) -> None:  # noqa: ANN401  # as above
    if "Link" in tag or "Image" in tag:
        contents.links += "Link" in tag
        contents.masked.append(span)
    elif "CodeBlock" in tag:
        contents.code_blocks += 1
        contents.masked.append(span)
        if "Fenced" in tag["CodeBlock"]:
            contents.fenced.append(span)


def _heading_faults(headings: list[tuple[int, int, str]]) -> list[tuple[int, str, str]]:
    faults: list[tuple[int, str, str]] = []
    last = 0
    titles = Counter[tuple[int, str]]()
    for at, level, title in headings:
        if last and level > last + 1:
            message = f"Heading jumps from level {last} to level {level}"
            faults.append((at, message, "MD_HEADING_JUMP"))
        last = level
        titles[level, title.strip().lower()] += 1
        if titles[level, title.strip().lower()] > 1:
            message = f'The heading "{title.strip()[:80]}" is given twice'
            faults.append((at, message, "MD_DUPLICATE_HEADING"))
    return faults


def _open_fences(source: bytes, fenced: list[tuple[int, int]]) -> list[tuple[int, str, str]]:
    """Find the fences that only the end of their container closes."""
    faults: list[tuple[int, str, str]] = []
    for start, end in fenced:
        lines = source[start:end].rstrip(b"\r\n").split(b"\n")
        opening, closing = _FENCE.match(lines[0]), _FENCE.match(lines[-1])
        closed = (
            len(lines) > 1
            and opening is not None
            and closing is not None
            and closing.group(1).startswith(opening.group(1))
        )
        if not closed:
            faults.append((start, "The code fence is never closed", "MD_UNCLOSED_FENCE"))
    return faults


def _broken_references(source: bytes, masked: list[tuple[int, int]]) -> list[tuple[int, str, str]]:
    """Find each `[text][label]` outside code and links that no definition resolved."""
    rest = bytearray(source)
    for start, end in masked:
        rest[start:end] = source[start:end].translate(_BLANK)
    faults: list[tuple[int, str, str]] = []
    for found in _REFERENCE.finditer(bytes(rest)):
        label = (found.group("label") or found.group("text")).decode("utf-8", "replace")
        message = f'No link definition for "{label[:80]}"'
        faults.append((found.start(), message, "MD_BROKEN_REFERENCE"))
    return faults
