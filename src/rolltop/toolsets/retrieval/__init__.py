"""Retrieval over trees of documents and code: exact, ranked and never stale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rolltop.core.settings import Setting
from rolltop.core.toolset import Prompt, PromptArgument, Toolset
from rolltop.toolsets.retrieval.jobs import JOBS
from rolltop.toolsets.retrieval.models import ErrorAnswer
from rolltop.toolsets.retrieval.tools import REFERENCES, TOOLS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rolltop.core.budget import Continuation
    from rolltop.core.errors import RolltopError


def _shape_error(error: RolltopError) -> dict[str, Any]:
    shown = {"code": error.code, "message": error.message, "details": error.data}
    return {"error": {**shown, "hint": error.hint}}


def _continued(result: dict[str, Any], continuation: Continuation) -> dict[str, Any]:
    cursor = {"next_cursor": continuation.cursor} if continuation.cursor else {}
    meta = {**result["meta"], "truncated": True, **cursor, "next": continuation.next}
    return {**result, "meta": meta}


def _answer_from_files(arguments: Mapping[str, str]) -> str:
    return (
        f"Answer from the files, with their places: {arguments['question']}\n\n"
        "1. repo_smart_search the question; where you know a name or a phrase, repo_search it. "
        "repo_list_dir shows what there is.\n"
        "2. repo_get_snippet the lines that matter, with a few around them, before you say "
        "anything of them.\n"
        "3. Answer, with repo/path:line after each claim. Say what you looked for in vain, and add "
        "nothing the files do not hold."
    )


TOOLSET: Final = Toolset(
    name="retrieval",
    summary="Exact and ranked search over trees of documents and code, and reading them.",
    tools=TOOLS,
    codes={
        "CONFIG_INVALID": "No root is configured; details.reason is MISSING_ROOT.",
        "QUERY_EMPTY": "The query is white space only.",
        "QUERY_INVALID": "The query has a line break, or is no valid regular expression.",
        "LIMIT_INVALID": "The limit is outside its range.",
        "REPO_INVALID": "There is no root of that name, or both is not taken here.",
        "FILE_GLOB_INVALID": "The glob is malformed, or no text.",
        "CURSOR_INVALID": "The cursor is not of this list, or what it goes on from changed.",
        "PATH_EMPTY": "The path is blank.",
        "PATH_OUT_OF_ROOT": "The path is absolute or leads out of its root.",
        "PATH_AMBIGUOUS": "Several roots have the path; details.candidates lists them.",
        "FILE_NOT_FOUND": "No file of that path may be read; details.nearest may know others.",
        "FILE_UNREADABLE": "It is no regular file, or may not be read.",
        "FILE_BINARY": "The file is not text.",
        "FILE_TOO_LARGE": "The file is larger than retrieval.max_file_bytes.",
        "RANGE_INVALID": "The lines or the character asked for are not in the file.",
        "DIR_NOT_FOUND": "No directory of that path may be listed.",
        "DIR_UNREADABLE": "The directory may not be listed.",
        "INVALID_ARGUMENT": "An argument is unknown, missing, of the wrong kind or out of range.",
        "UNAVAILABLE": "The server is stopping, or lacks open files or processes just now.",
        "TIMEOUT": "The call passed call_timeout.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    error_output=ErrorAnswer,
    continued=_continued,
    needs_store=False,
    settings=(
        Setting(
            "retrieval.max_file_bytes",
            "size",
            256 * 1024 * 1024,
            "Larger files are not searched and not read.",
            minimum=1,
            untrusted="down",
        ),
        Setting(
            "retrieval.index",
            "flag",
            default=True,
            help="Keep an index in data_dir, which makes searches faster and changes no answer of "
            "repo_search. Without it repo_smart_search ranks by words alone, and in a large tree "
            "only the files that are likeliest to answer (meta.unread counts the others).",
        ),
        Setting(
            "retrieval.semantic_search",
            "flag",
            default=True,
            help="Rank by meaning as well, where the extra for it is installed and "
            "retrieval.index is on.",
        ),
        Setting(
            "retrieval.watch",
            "flag",
            default=False,
            help="Rely on the kernel's notes of what changed, on local disks under Linux, instead "
            "of looking at the state of every file at each search. Faster in large trees; but what "
            "is written through a memory map, or a hard link outside the root, may be missed for "
            "30 s.",
        ),
    ),
    jobs=JOBS,
    references=REFERENCES,
    prompts=(
        Prompt(
            "answer_from_files",
            "Answer from the files",
            "Search the roots for what answers a question, and answer it with places.",
            (PromptArgument("question", "What to find out.", required=True),),
            _answer_from_files,
            tools=("repo_search", "repo_smart_search", "repo_get_snippet"),
        ),
    ),
)
