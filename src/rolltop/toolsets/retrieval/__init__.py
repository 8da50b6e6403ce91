"""Retrieval over trees of documents and code: exact, ranked and never stale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.errors import RolltopError
from rolltop.core.pagination import Continuation
from rolltop.core.settings import Setting
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.retrieval.jobs import JOBS
from rolltop.toolsets.retrieval.tools import RESOURCE_TEMPLATES, TOOLS


def _shape_error(error: RolltopError) -> dict[str, Any]:
    shown = {"code": error.code, "message": error.message, "details": error.data}
    return {"error": {**shown, "hint": error.hint}}


def _add_continuation(result: dict[str, Any], continuation: Continuation) -> dict[str, Any]:
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
        "3. Answer, with repo/path:line after each claim. Say what you did not find, and add "
        "nothing the files do not hold."
    )


TOOLSET: Final = Toolset(
    name="retrieval",
    summary="Exact and ranked search over trees of documents and code, and reading them.",
    guidance=("Before opening files, repo_smart_search or repo_search finds the place.",),
    tools=TOOLS,
    evidence={"file": "rolltop.toolsets.retrieval.service.evidence:resolve_file"},
    file_gauges="rolltop.toolsets.retrieval.jobs:measure_indexes",
    error_codes={
        "CONFIG_INVALID": "There is no root; details.reason is MISSING_ROOT.",
        "QUERY_EMPTY": "The query is white space only.",
        "QUERY_INVALID": "The query has a line break or is not a valid regular expression.",
        "LIMIT_INVALID": "The limit is outside its range.",
        "REPO_INVALID": "Unknown root, or both where one root is required.",
        "FILE_GLOB_INVALID": "The glob is malformed or not a string.",
        "INVALID_CURSOR": "The cursor belongs to another list, or files it depends on changed.",
        "PATH_EMPTY": "The path is blank.",
        "PATH_OUT_OF_ROOT": "The path is absolute or outside its root.",
        "PATH_AMBIGUOUS": "Several roots have the path; details.candidates lists them.",
        "FILE_NOT_FOUND": "No readable file has this path; details.nearest may suggest others.",
        "FILE_UNREADABLE": "The path is not a regular file, or not readable.",
        "FILE_BINARY": "The file is not text.",
        "FILE_TOO_LARGE": "The file is larger than retrieval.max_file_bytes.",
        "RANGE_INVALID": "The requested lines or character are not in the file.",
        "DIR_NOT_FOUND": "No directory has this path, or it is hidden or ignored.",
        "DIR_UNREADABLE": "The directory cannot be listed.",
        "INVALID_ARGUMENT": "An argument is unknown, missing, of the wrong kind or out of range.",
        "UNAVAILABLE": "The server is stopping, or lacks open files or processes just now.",
        "TIMEOUT": "The call passed call_timeout.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    with_continuation=_add_continuation,
    needs_store=False,
    reads_roots=True,
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
    ),
    jobs=JOBS,
    resource_templates=RESOURCE_TEMPLATES,
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
