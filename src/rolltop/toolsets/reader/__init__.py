"""Reading documents that are too big for a context window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.pagination import Continuation
from rolltop.core.settings import Setting
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.reader.tools import RESOURCE_TEMPLATES, SERVICE, TOOLS


def _shape_error(error: RolltopError) -> dict[str, Any]:
    shape = {"type": "error", "error": error.message, "code": error.code, "hint": error.hint}
    return {**shape, **error.data}


def _add_continuation(result: dict[str, Any], continuation: Continuation) -> dict[str, Any]:
    return {**result, "truncated": True, "next": continuation.next}


def _digest_document(arguments: Mapping[str, str]) -> str:
    question = arguments.get("question")
    aim = f" with this question in mind: {question}" if question else ""
    return (
        f"Digest the document {arguments['file_path']}{aim}.\n\n"
        "1. smart_read it. If that answers the full text, go to step 3.\n"
        "2. list_sections, choose the sections that matter, and read_section each by its id; "
        "read_plan with the question chooses for you within a token budget.\n"
        "3. Write what the document says, most important first. Give the line (L142) for each "
        "claim, name the sections you did not read, and add nothing the text does not hold."
    )


TOOLSET: Final = Toolset(
    name="reader",
    summary="Reading documents too big for a context window.",
    guidance=("Before reading a long document, smart_read, or read_plan with a question.",),
    tools=TOOLS,
    service=SERVICE,
    error_codes={
        "FILE_NOT_FOUND": "No file of that path may be read.",
        "PATH_OUT_OF_ROOT": "The path leads outside the directories that may be read.",
        "PATH_AMBIGUOUS": "Several roots have the relative path; candidates lists them.",
        "FILE_UNREADABLE": "It is no regular file, or may not be read, or is damaged.",
        "FILE_BINARY": "The file is not text.",
        "FILE_TOO_LARGE": "The file is larger than reader.max_file_bytes, or takes too long or too "
        "much memory to parse.",
        "FORMAT_UNSUPPORTED": "The format is not read, or its optional library is not installed.",
        "SECTION_NOT_FOUND": "No section matches; suggestions lists the nearest.",
        "MODE_INVALID": "The mode is not one of auto, summary, full.",
        "STYLE_INVALID": "The style is not one of structured, extractive, abstract.",
        "INVALID_ARGUMENT": "An argument is unknown, missing, of the wrong kind or out of range.",
        "INVALID_TEXT": "A text holds NUL or a lone surrogate.",
        "UNAVAILABLE": "The server is stopping, or lacks open files just now.",
        "TIMEOUT": "The call passed call_timeout.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    error_fields=("type", "error", "code", "hint"),
    with_continuation=_add_continuation,
    needs_store=False,
    reads_roots=True,
    settings=(
        Setting(
            "reader.roots",
            "paths",
            (),
            "Directories the reader may read besides the retrieval roots.",
            untrusted="inside",
        ),
        Setting(
            "reader.threshold_tokens",
            "integer",
            10_000,
            "Files of more tokens are summarised by smart_read in mode auto.",
            minimum=0,
            untrusted="down",
        ),
        Setting(
            "reader.max_file_bytes",
            "size",
            64 * 1024 * 1024,
            "Larger files are not read.",
            minimum=1,
            untrusted="down",
        ),
        Setting(
            "reader.cache_bytes",
            "size",
            64 * 1024 * 1024,
            "Most bytes of documents kept in memory (the last one in any case), and of outlines "
            "kept in the store.",
            minimum=0,
            untrusted="down",
        ),
    ),
    resource_templates=RESOURCE_TEMPLATES,
    prompts=(
        Prompt(
            "digest_document",
            "Digest a document",
            "Read a long document by its sections and say what it holds, with lines.",
            (
                PromptArgument("file_path", "The document to digest.", required=True),
                PromptArgument("question", "What to look for in it."),
            ),
            _digest_document,
        ),
    ),
)
