"""The tools over the roots, the file resource and its completions: what the model sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from rolltop.core.budget import Page, Text
from rolltop.core.call import Call
from rolltop.core.lazy import lazy
from rolltop.core.toolset import TYPE, VALUE, Contents, Fault, Reference, SeedName, Tool
from rolltop.toolsets.retrieval.models import (
    Case,
    DirectoryAnswer,
    FileAnswer,
    Order,
    Query,
    SearchAnswer,
    SmartSearchAnswer,
)

if TYPE_CHECKING:
    from rolltop.toolsets.retrieval import service
else:
    service = lazy("rolltop.toolsets.retrieval.service")

Repo = Annotated[str | None, Field(description="a root's name; left out: all")]
Path = Annotated[str, Field(description="relative to its root, or after the root's name")]
Glob = Annotated[str | None, Field(description="gitignore syntax, as in *.py or src/**/*.{js,ts}")]
Character = Annotated[int | None, Field(ge=0, description="0-based, from next")]
LineNumber = Annotated[int, Field(ge=1)]
Numbered = Annotated[bool, Field(description="lines as {line, text}: 1.8 times the tokens")]


async def repo_search(
    call: Call,
    query: str,
    repo: Repo = None,
    file_glob: Glob = None,
    limit: Annotated[int, Field(ge=1, le=1000)] = 200,
    regex: bool = False,
    case: Case = "sensitive",
    context: Annotated[int, Field(ge=0, le=5, description="lines around each match")] = 0,
) -> Page:
    """Find every line that holds a text or matches a regular expression, exactly as ripgrep does.

    Results are true of the files now, ordered by repo, path and line.
    """
    wanted = Query(query, regex, case, file_glob, context)
    return await service.search(call, wanted, repo, limit)


async def repo_smart_search(
    call: Call,
    query: str,
    repo: Repo = None,
    file_glob: Glob = None,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
    order: Order = "rank",
) -> Page:
    """Find the functions, classes, sections and paragraphs that best answer a few words.

    Takes a question, words, a camelCase or snake_case name, a file name. why: what matched. order
    path arranges each page by path. Pages end after 120 places. meta.unread: files that hold some
    of it too and were left out: not indexed yet, or too many for signs or a long number.
    """
    return await service.smart_search(call, service.Ranked(query, file_glob, order), repo, limit)


async def repo_open_file(
    call: Call,
    path: Path,
    repo: Repo = None,
    lines: Numbered = False,
    char_start: Character = None,
) -> Text:
    """Read a file from its start."""
    wanted = service.Wanted(repo, path, char_start=char_start, numbered=lines)
    return await service.read_text(call, wanted)


async def repo_get_snippet(
    call: Call,
    path: Path,
    start_line: LineNumber,
    end_line: LineNumber,
    repo: Repo = None,
    lines: Numbered = False,
    char_start: Character = None,
) -> Text:
    """Read the lines start_line to end_line of a file, 1-based and inclusive."""
    wanted = service.Wanted(repo, path, start_line, end_line, char_start, lines)
    return await service.read_text(call, wanted)


async def repo_list_dir(
    call: Call,
    repo: Repo = None,
    path: Annotated[str | None, Field(description="left out: the root, or all roots")] = None,
    depth: Annotated[int, Field(ge=1, le=5)] = 1,
) -> Page:
    """List a directory's text files and folders; those hidden or ignored by git are left out."""
    return await service.list_directory(call, repo, path, depth)


async def read_resource(call: Call, **variables: str) -> Contents:
    """Return the text of a file, or of lines of it."""
    return await service.resource_contents(
        call, variables["repo"], variables["path"], variables.get("lines", "")
    )


async def complete(call: Call, *typed: Any) -> list[str]:  # noqa: ANN401  # variable, prefix, context
    """Return roots or paths that begin with what was typed."""
    variable, prefix, context = typed
    return await service.completions(call, variable, prefix, context or {})


_REPO: Final = Fault("REPO_INVALID")
_RANGE: Final = Fault("RANGE_INVALID", when=frozenset({VALUE}))
_CURSOR: Final = Fault("CURSOR_INVALID")
_SEARCH_FAULTS: Final = {
    "repo": _REPO,
    "limit": Fault("LIMIT_INVALID"),
    "file_glob": Fault("FILE_GLOB_INVALID", when=frozenset({TYPE, VALUE})),
    "cursor": _CURSOR,
}
_READ_FAULTS: Final = {
    "repo": _REPO,
    "start_line": _RANGE,
    "end_line": _RANGE,
    "char_start": _RANGE,
}
_PATTERN: Final = "Send it as query, with regex true where it is a regular expression."
_SOME_LINES: Final = "repo_get_snippet reads lines of a file, by start_line and end_line."
_OF_LINES: Final = ("start_line", "end_line", "line_start", "line_end", "offset", "limit", "range")
_AS_LINES: Final = {"lines": True}

TOOLS: Final = (
    Tool(
        "repo_search",
        repo_search,
        "Search exactly",
        SearchAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
        seeds=(SeedName("search"),),
        faults=_SEARCH_FAULTS,
        elsewhere={"pattern": _PATTERN},
    ),
    Tool(
        "repo_smart_search",
        repo_smart_search,
        "Search by rank",
        SmartSearchAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
        seeds=(SeedName("smart_search"),),
        faults=_SEARCH_FAULTS,
    ),
    Tool(
        "repo_open_file",
        repo_open_file,
        "Read a file",
        FileAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        seeds=(SeedName("open_file", _AS_LINES),),
        faults=_READ_FAULTS,
        elsewhere=dict.fromkeys(_OF_LINES, _SOME_LINES),
    ),
    Tool(
        "repo_get_snippet",
        repo_get_snippet,
        "Read lines of a file",
        FileAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        seeds=(SeedName("get_snippet", _AS_LINES),),
        faults=_READ_FAULTS,
    ),
    Tool(
        "repo_list_dir",
        repo_list_dir,
        "List a directory",
        DirectoryAnswer,
        reads=True,
        idempotent=True,
        bounded=True,
        continues=True,
        seeds=(SeedName("list_dir"),),
        faults={"repo": _REPO, "cursor": _CURSOR},
    ),
)

REFERENCES: Final = (
    Reference(
        kind="file",
        template="rolltop://file/{repo}/{+path}{#lines}",
        title="A file of a root",
        description="A text file of a named root, or lines of it: #L10-L20.",
        mime_type="text/plain",
        read=read_resource,
        complete=complete,
    ),
)
