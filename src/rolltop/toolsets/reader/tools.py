"""The tools of the reader, the section resource and its completions: what the model sees."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core.addresses import TEMPLATES, parse_file_address
from rolltop.core.arguments import QueryText
from rolltop.core.context import CallContext
from rolltop.core.pagination import MIN_BUDGET, Page, TextPage
from rolltop.core.tools import TYPE, VALUE, ArgumentErrorCode, ResourceTemplate, Tool
from rolltop.toolsets.reader.models import (
    DEFAULT_SUMMARY_TOKENS,
    MAX_SUMMARY,
    MIN_SUMMARY,
    JsonObject,
    OutlineAnswer,
    ReadMode,
    SummaryStyle,
    TokenEncoding,
)

if TYPE_CHECKING:
    from rolltop.toolsets.reader.service import ReaderService

SERVICE: Final = "rolltop.toolsets.reader.service:ReaderService"
CharacterOffset = Annotated[int | None, Field(ge=0, description="from next")]


def _service(call: CallContext) -> ReaderService:
    return call.app.load_service(SERVICE)


async def smart_read(
    call: CallContext,
    file_path: Annotated[str, Field(description="absolute, or relative to a root")],
    mode: ReadMode = "auto",
    summary_style: SummaryStyle = "structured",
    max_summary_tokens: Annotated[
        int, Field(ge=MIN_SUMMARY, le=MAX_SUMMARY)
    ] = DEFAULT_SUMMARY_TOKENS,
    line_start: Annotated[int | None, Field(ge=1, description="read in full from here")] = None,
    char_start: CharacterOffset = None,
) -> JsonObject | TextPage:
    """Read a file in full or, over 10,000 tokens, as a summary whose sentences cite their lines."""
    address = parse_file_address(file_path)
    if line_start is None and address is not None and address.lines is not None:
        line_start = address.lines[0]
    has_position = line_start is not None or char_start is not None
    position = (line_start or 1, char_start) if has_position else None
    return await _service(call).smart_read(
        call, file_path, mode, summary_style, max_summary_tokens, position
    )


async def read_section(
    call: CallContext,
    file_path: str,
    section_heading: Annotated[
        str, Field(description='title, number ("3.1"), id, or path ("Methods > Sampling")')
    ],
    char_start: CharacterOffset = None,
) -> TextPage:
    """Read one section of a file, its subsections included."""
    return await _service(call).read_section(call, file_path, section_heading, char_start or 0)


async def list_sections(
    call: CallContext, file_path: str, max_level: Annotated[int, Field(ge=1, le=6)] = 6
) -> Page:
    """List a file's sections with ids, lines and token counts."""
    return await _service(call).list_sections(call, file_path, max_level)


async def estimate_tokens(
    call: CallContext,
    text: str | None = None,
    file_path: str | None = None,
    encoding: TokenEncoding = "cl100k_base",
) -> JsonObject:
    """Count the tokens of a text or a file, exactly."""
    if text == "" and file_path is not None:
        text = None  # as some send what they leave out
    return await _service(call).estimate_tokens(call, text, file_path, encoding)


async def read_plan(
    call: CallContext,
    file_paths: Annotated[list[QueryText], Field(description="files, folders or globs")],
    query: QueryText,
    budget_tokens: Annotated[int, Field(ge=MIN_BUDGET, description="for their text")],
) -> JsonObject:
    """Read the sections of files that best answer a query within a token budget."""
    return await _service(call).read_plan(call, file_paths, query, budget_tokens)


async def read_resource(call: CallContext, **variables: str) -> str:
    """Read the text of a section."""
    path = f"{variables['root']}/{variables['path']}"
    return await _service(call).section_text(call, path, variables.get("id", ""))


async def complete(call: CallContext, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Complete a root, a path or a section id."""
    variable, prefix, context = typed
    return await _service(call).complete(call, variable, prefix, context or {})


_INVALID_KINDS: Final = frozenset({TYPE, VALUE})
_READ_HINTS: Final = {
    **dict.fromkeys(
        ("limit", "line_end", "end_line", "line_count"),
        "max_tokens says how much to read; where more is left, next reads on.",
    ),
    **dict.fromkeys(("query", "question"), "read_plan reads the sections that answer a query."),
}
_read_tool: Final = partial(Tool, is_read_only=True, idempotent=True)

TOOLS: Final = (
    _read_tool(
        "smart_read",
        smart_read,
        "Read a document",
        accepts_max_tokens=True,
        argument_errors={
            "mode": ArgumentErrorCode("MODE_INVALID", when=_INVALID_KINDS),
            "summary_style": ArgumentErrorCode("STYLE_INVALID", when=_INVALID_KINDS),
        },
        argument_hints=_READ_HINTS,
        search_hint="summarize a document, PDF, DOCX",
    ),
    _read_tool("read_section", read_section, "Read a section", accepts_max_tokens=True),
    _read_tool(
        "list_sections",
        list_sections,
        "List sections",
        OutlineAnswer,
        accepts_max_tokens=True,
        accepts_cursor=True,
        search_hint="table of contents, outline",
    ),
    _read_tool(
        "estimate_tokens",
        estimate_tokens,
        "Count tokens",
        blank_values=frozenset({"text"}),
    ),
    _read_tool(
        "read_plan",
        read_plan,
        "Read what answers a query",
        accepts_max_tokens=True,
        search_hint="answer a question from documents, RAG",
    ),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        kind="section",
        template=TEMPLATES["section"],
        title="A section of a document",
        description="The lines of one section of a file in a named root.",
        mime_type="text/plain",
        read=read_resource,
        complete=complete,
    ),
)
