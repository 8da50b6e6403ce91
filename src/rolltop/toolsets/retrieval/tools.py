"""The retrieval tools, the file resource and its completions, as the model sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core.addresses import TEMPLATES
from rolltop.core.argument_names import PARAMETER_SYNONYMS, canonical_names
from rolltop.core.arguments import QueryText
from rolltop.core.context import CallContext
from rolltop.core.lazy_imports import lazy
from rolltop.core.pagination import Page, TextPage
from rolltop.core.tools import (
    TYPE,
    VALUE,
    Alias,
    ArgumentErrorCode,
    JsonObject,
    ResourceContents,
    ResourceTemplate,
    Tool,
)
from rolltop.toolsets.retrieval.models import (
    Case,
    DirectoryAnswer,
    Order,
    Query,
    RepoSearchAnswer,
    SmartSearchAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval.service import (
        directories,
        exact_search,
        file_lines,
        ranking,
        root_lookup,
    )
    from rolltop.workspace import globs
else:
    directories = lazy("rolltop.toolsets.retrieval.service.directories")
    exact_search = lazy("rolltop.toolsets.retrieval.service.exact_search")
    file_lines = lazy("rolltop.toolsets.retrieval.service.file_lines")
    ranking = lazy("rolltop.toolsets.retrieval.service.ranking")
    root_lookup = lazy("rolltop.toolsets.retrieval.service.root_lookup")
    globs = lazy("rolltop.workspace.globs")

Repo = Annotated[str | None, Field(description="a root's name")]
Path = Annotated[str, Field(description="relative to its root")]
Glob = Annotated[
    QueryText | None,
    Field(description="gitignore syntax, as src/**/*.{js,ts}"),
]
CharacterOffset = Annotated[int | None, Field(ge=0, description="from next")]
LineNumber = Annotated[int, Field(ge=1)]
NumberedLines = Annotated[bool, Field(description="as {line, text}")]


async def repo_search(
    call: CallContext,
    query: QueryText,
    repo: Repo = None,
    file_glob: Glob = None,
    limit: Annotated[int, Field(ge=1, le=1000)] = 200,
    regex: bool = False,
    case: Case = "sensitive",
    context: Annotated[int, Field(ge=0, le=5, description="lines around each match")] = 0,
) -> Page:
    """Find every line that contains a text or matches a regular expression, like ripgrep."""
    parsed = Query(query, regex, case, file_glob, context)
    return await call.run_in_thread(
        exact_search.exact_page, call, root_lookup.CallTimer(), parsed, repo, limit
    )


async def repo_smart_search(
    call: CallContext,
    query: QueryText,
    repo: Repo = None,
    file_glob: Glob = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    order: Order = "rank",
) -> Page:
    """Find the functions, classes and sections that best match a question, keywords or a name."""
    parsed = ranking.RankedQuery(query, file_glob, order)
    return await call.run_in_thread(
        ranking.ranked_page, call, root_lookup.CallTimer(), parsed, repo, limit
    )


async def repo_open_file(
    call: CallContext,
    path: Path,
    repo: Repo = None,
    lines: NumberedLines = False,
    char_start: CharacterOffset = None,
) -> TextPage:
    """Read a file from its start."""
    request = file_lines.FileRequest(repo, path, char_start=char_start, numbered=lines)
    return await call.run_in_thread(file_lines.file_text, call, root_lookup.CallTimer(), request)


async def repo_get_snippet(
    call: CallContext,
    path: Path,
    start_line: LineNumber,
    end_line: LineNumber,
    repo: Repo = None,
    lines: NumberedLines = False,
    char_start: CharacterOffset = None,
) -> TextPage:
    """Read lines of a file, from start_line to end_line, both included."""
    request = file_lines.FileRequest(repo, path, start_line, end_line, char_start, lines)
    return await call.run_in_thread(file_lines.file_text, call, root_lookup.CallTimer(), request)


async def repo_list_dir(
    call: CallContext,
    repo: Repo = None,
    path: Annotated[str | None, Field(description="left out: all of it")] = None,
    depth: Annotated[int, Field(ge=1, le=5)] = 1,
) -> Page:
    """List a directory's text files and folders, except hidden and git-ignored ones."""
    return await call.run_in_thread(
        directories.list_directory, call, root_lookup.CallTimer(), repo, path, depth
    )


async def read_resource(call: CallContext, **variables: str) -> ResourceContents:
    """Read a file, or some of its lines."""
    root, path, lines = variables["root"], variables["path"], variables.get("lines", "")
    return await call.run_in_thread(
        file_lines.resource_contents, call, root_lookup.CallTimer(), root, path, lines
    )


async def complete(call: CallContext, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """List roots or paths that start with the typed prefix."""
    variable, prefix, context = typed
    return await call.run_in_thread(directories.complete, call.app, variable, prefix, context or {})


def _join_path(given: JsonObject) -> JsonObject:
    """Return a search's arguments with `path`, where there is a glob beside it, made part of it.

    An inverted path cannot be, and is left for a refusal.
    """
    if "path" not in given:
        return given
    names = [
        name
        for name in given
        if name != "path" and canonical_names(name, ("file_glob",), PARAMETER_SYNONYMS)
    ]
    if len(names) != 1:
        return given
    path, glob = given["path"] or "", given[names[0]] or ""
    if not isinstance(path, str) or not isinstance(glob, str) or path.startswith("!"):
        return given
    others = {name: value for name, value in given.items() if name != "path"}
    return {**others, names[0]: globs.glob_below(path, glob)}


_REPO_FAULT: Final = ArgumentErrorCode("REPO_INVALID")
_RANGE_FAULT: Final = ArgumentErrorCode("RANGE_INVALID", when=frozenset({VALUE}))
_CURSOR_FAULT: Final = ArgumentErrorCode("INVALID_CURSOR")
_SEARCH_FAULTS: Final = {
    "query": ArgumentErrorCode("QUERY_INVALID", when=frozenset({VALUE})),
    "repo": _REPO_FAULT,
    "limit": ArgumentErrorCode("LIMIT_INVALID"),
    "file_glob": ArgumentErrorCode("FILE_GLOB_INVALID", when=frozenset({TYPE, VALUE})),
    "cursor": _CURSOR_FAULT,
}
_READ_FAULTS: Final = {
    "repo": _REPO_FAULT,
    "start_line": _RANGE_FAULT,
    "end_line": _RANGE_FAULT,
    "char_start": _RANGE_FAULT,
}
_PATTERN_HINT: Final = "Send it as query, with regex true where it is a regular expression."
_GLOB_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("type", "file_type", "language", "exclude", "ignore", "extension"),
    "file_glob selects files, as *.py or !test/**.",
)
_GREP_HINTS: Final = {
    "pattern": _PATTERN_HINT,
    **dict.fromkeys(
        ("ignore_case", "case_sensitive", "case_insensitive", "-i", "i"),
        "case ignore finds letters of any case.",
    ),
    **dict.fromkeys(
        ("-A", "-B", "-C", "before", "after", "before_context", "after_context"),
        "context shows up to 5 lines around each match.",
    ),
    **dict.fromkeys(
        ("output_mode", "files_with_matches", "files_only", "-l", "-n"),
        "Every answer names the file and line of each match.",
    ),
    **_GLOB_HINTS,
}
_LIST_HINTS: Final = {
    "recursive": "depth 5 lists the folders in folders too.",
    **dict.fromkeys(
        ("pattern", "glob", "file_glob", "ignore"),
        "repo_smart_search finds files by their names, in those that its file_glob selects.",
    ),
}
_SNIPPET_HINTS: Final[dict[str, str]] = dict.fromkeys(
    ("range", "line_range", "view_range", "limit", "offset", "count", "line", "context"),
    "start_line and end_line are numbers, and say which lines.",
)
_LINE_RANGE_HINT: Final = "repo_get_snippet reads lines of a file, by start_line and end_line."
_LINE_RANGE_ARGUMENTS: Final = (
    *("start_line", "end_line", "line_start", "line_end", "offset", "limit"),
    *("range", "line_range", "view_range", "start", "end"),
)
_AS_LINES: Final = {"lines": True}

TOOLS: Final = (
    Tool(
        "repo_search",
        repo_search,
        "Search exactly",
        RepoSearchAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        aliases=(Alias("search"),),
        argument_errors=_SEARCH_FAULTS,
        adapt=_join_path,
        argument_hints=_GREP_HINTS,
        search_hint="grep, ripgrep, find text or regex in files",
    ),
    Tool(
        "repo_smart_search",
        repo_smart_search,
        "Search by rank",
        SmartSearchAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        aliases=(Alias("smart_search"),),
        argument_errors=_SEARCH_FAULTS,
        adapt=_join_path,
        argument_hints=_GLOB_HINTS,
        is_core=True,
    ),
    Tool(
        "repo_open_file",
        repo_open_file,
        "Read a file",
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        aliases=(Alias("open_file", _AS_LINES),),
        argument_errors=_READ_FAULTS,
        argument_hints=dict.fromkeys(_LINE_RANGE_ARGUMENTS, _LINE_RANGE_HINT),
        search_hint="cat, view a file",
    ),
    Tool(
        "repo_get_snippet",
        repo_get_snippet,
        "Read lines of a file",
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        aliases=(Alias("get_snippet", _AS_LINES),),
        argument_errors=_READ_FAULTS,
        argument_hints=_SNIPPET_HINTS,
    ),
    Tool(
        "repo_list_dir",
        repo_list_dir,
        "List a directory",
        DirectoryAnswer,
        is_read_only=True,
        idempotent=True,
        accepts_max_tokens=True,
        accepts_cursor=True,
        aliases=(Alias("list_dir"),),
        argument_errors={"repo": _REPO_FAULT, "cursor": _CURSOR_FAULT},
        argument_hints=_LIST_HINTS,
    ),
)

RESOURCE_TEMPLATES: Final = (
    ResourceTemplate(
        kind="file",
        template=TEMPLATES["file"],
        title="A file of a root",
        description="A text file of a named root, or lines of it: #L10-L20.",
        mime_type="text/plain",
        read=read_resource,
        complete=complete,
    ),
)
