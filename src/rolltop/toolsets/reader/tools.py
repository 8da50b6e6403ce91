"""The tools of the reader, the section resource and its completions: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core.budget import MINIMUM, Page, Text
from rolltop.core.call import Call
from rolltop.core.lazy import lazy
from rolltop.core.toolset import TYPE, VALUE, Fault, Reference, Tool
from rolltop.toolsets.reader.models import (
    DEFAULT_SUMMARY,
    LEAST_SUMMARY,
    MOST_SUMMARY,
    Encoding,
    JsonObject,
    Mode,
    OutlineAnswer,
    Plan,
    Reading,
    SectionAnswer,
    Style,
    TokenCount,
)

if TYPE_CHECKING:
    from rolltop.toolsets.reader import service
else:
    service = lazy("rolltop.toolsets.reader.service")

Position = Annotated[int | None, Field(ge=0, description="0-based; from next")]


async def smart_read(
    call: Call,
    file_path: Annotated[str, Field(description="absolute, or relative to a root")],
    mode: Mode = "auto",
    summary_style: Style = "structured",
    max_summary_tokens: Annotated[int, Field(ge=LEAST_SUMMARY, le=MOST_SUMMARY)] = DEFAULT_SUMMARY,
    line_start: Annotated[int | None, Field(ge=1, description="read in full from here")] = None,
    char_start: Position = None,
) -> JsonObject | Text:
    """Read a file: in full, or when over 10,000 tokens as a summary whose sentences cite lines."""
    whole = line_start is None and char_start is None
    place = None if whole else (line_start or 1, char_start or 0)
    return await service.smart_read(call, file_path, mode, summary_style, max_summary_tokens, place)


async def read_section(
    call: Call,
    file_path: str,
    section_heading: Annotated[
        str, Field(description='title, number ("3.1"), id, or path ("Methods > Sampling")')
    ],
    char_start: Position = None,
) -> Text:
    """Read one section of a file, its subsections included."""
    return await service.read_section(call, file_path, section_heading, char_start or 0)


async def list_sections(
    call: Call, file_path: str, max_level: Annotated[int, Field(ge=1, le=6)] = 6
) -> Page:
    """List a file's sections with ids, lines and token counts."""
    return await service.list_sections(call, file_path, max_level)


async def estimate_tokens(
    call: Call,
    text: str | None = None,
    file_path: str | None = None,
    encoding: Encoding = "cl100k_base",
) -> JsonObject:
    """Count the tokens of a text or a file, exactly."""
    return await service.estimate_tokens(call, text, file_path, encoding)


async def read_plan(
    call: Call,
    file_paths: list[str],
    query: str,
    budget_tokens: Annotated[
        int, Field(ge=MINIMUM, description="for their text; max_tokens bounds the answer")
    ],
) -> JsonObject:
    """Read the sections of files that best answer a query within a token budget."""
    return await service.read_plan(call, file_paths, query, budget_tokens)


async def read_resource(call: Call, **variables: str) -> str:
    """Return the text of a section."""
    path = f"{variables['root']}/{variables['path']}"
    return await service.section_text(call, path, variables.get("id", ""))


async def complete(call: Call, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Return roots, paths or section ids that begin with what was typed."""
    variable, prefix, context = typed
    return await service.completions(call, variable, prefix, context or {})


_WRONG: Final = frozenset({TYPE, VALUE})

TOOLS: Final = (
    Tool(
        "smart_read",
        smart_read,
        "Read a document",
        Reading,
        reads=True,
        idempotent=True,
        bounded=True,
        faults={
            "mode": Fault("MODE_INVALID", when=_WRONG),
            "summary_style": Fault("STYLE_INVALID", when=_WRONG),
        },
    ),
    Tool(
        "read_section",
        read_section,
        "Read a section",
        SectionAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
    ),
    Tool(
        "list_sections",
        list_sections,
        "List sections",
        OutlineAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
    ),
    Tool(
        "estimate_tokens",
        estimate_tokens,
        "Count tokens",
        TokenCount,
        reads=True,
        idempotent=True,
    ),
    Tool(
        "read_plan",
        read_plan,
        "Read what answers a query",
        Plan,
        reads=True,
        idempotent=True,
        bounded=True,
    ),
)

REFERENCES: Final = (
    Reference(
        kind="section",
        template="rolltop://section/{root}/{+path}{#id}",
        title="A section of a document",
        description="The lines of one section of a file in a named root.",
        mime_type="text/plain",
        read=read_resource,
        complete=complete,
    ),
)
