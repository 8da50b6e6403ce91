"""Resolves the root, file or directory that a call names, and explains what is wrong with it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Final, NamedTuple

from rolltop.core.arguments import value_preview
from rolltop.core.context import AppContext
from rolltop.core.errors import InvalidArgument, InvalidConfig, NotFound, RolltopError
from rolltop.documents.extractors.formats import has_document_name
from rolltop.toolsets.retrieval.models import MULTIPLE_ROOTS, JsonObject
from rolltop.workspace import PathError, ResolvedPath, Root, Roots
from rolltop.workspace.errors import explain_hidden
from rolltop.workspace.glob_paths import GlobResolver, below_root_name
from rolltop.workspace.globs import globs_by_root
from rolltop.workspace.suggestions import suggest_paths

# A tool of another toolset, which may be disabled.
_READER: Final = "smart_read"
_MESSAGES: Final = {
    "PATH_EMPTY": "path is blank",
    "PATH_OUT_OF_ROOT": "path is outside the roots",
    "PATH_AMBIGUOUS": "Several roots have {path}",
    "FILE_NOT_FOUND": "File {path} does not exist",
    "FILE_UNREADABLE": "{path} is not a regular file, or not readable",
}
# Lines of a file, as compilers, hosts and the command line write them.
_LINES: Final = re.compile(
    r"(?P<path>.+?)(?::|#)L?(?P<start>[0-9]{1,9})(?:-L?(?P<end>[0-9]{1,9})|:[0-9]{1,9})?", re.ASCII
)
# Characters of an argument that an error repeats, ellipsis included.
_MAX_ECHO_LENGTH: Final = 200


def require_roots(roots: Roots) -> None:
    """Raise CONFIG_INVALID if there is no root."""
    if not roots.named:
        raise InvalidConfig(
            "No root is configured",
            hint="Set DOCS_ROOT or CODE_ROOT in the server's environment, or name folders under "
            "[retrieval.roots] in rolltop.toml, and restart it. Over stdio, starting it in a "
            "project's folder is enough.",
            data={"reason": "MISSING_ROOT"},
        )


@dataclass(frozen=True, slots=True)
class CallTimer:
    """Measures the duration of a call, from its start on the event loop."""

    started: float = field(default_factory=perf_counter)

    def meta(self, repo: str, **values: Any) -> JsonObject:  # noqa: ANN401  # any JSON value
        """Build an answer's `meta`; leave out None and empty objects and arrays."""
        duration = int((perf_counter() - self.started) * 1000)
        present = {name: value for name, value in values.items() if value not in (None, {}, [])}
        return {"repo": repo, "duration_ms": duration, "truncated": False, **present}


class RootSelection(NamedTuple):
    """The roots of a call that exist, and the names of those that do not."""

    present: tuple[Root, ...]
    missing: list[str]
    """Roots moved or removed since the start; every answer names them."""


def select_roots(roots: Roots, repo: str | None) -> RootSelection:
    """Select the roots of a search: the named one, or all that exist.

    Raises:
        InvalidConfig: no root is configured, or none of them exists any more.
        InvalidArgument: REPO_INVALID, no root of that name.

    """
    require_roots(roots)
    chosen = roots.named
    if repo is not None and repo != MULTIPLE_ROOTS:
        chosen = (
            _require_root(
                roots, repo, allowed=[MULTIPLE_ROOTS, *(root.name for root in roots.named)]
            ),
        )
    return _present_roots(chosen)


def resolve_glob(roots: Roots, chosen: Sequence[Root], file_glob: str | None) -> str | None:
    """Return a call's glob for the roots that it chose, with what is there as written quoted."""
    return file_glob and GlobResolver(roots, chosen).resolve(file_glob)


def roots_for_glob(roots: Sequence[Root], file_glob: str | None) -> list[Root]:
    """Select the roots in which a glob may match files. Raises FILE_GLOB_INVALID."""
    globs = globs_by_root(file_glob, [root.name for root in roots])
    return [root for root in roots if (glob := globs[root.name]) is None or glob.selects_root]


def repo_label(roots: Sequence[Root]) -> str:
    """Name the root, or `both` for more than one."""
    return roots[0].name if len(roots) == 1 else MULTIPLE_ROOTS


def locate(roots: Roots, repo: str | None, path: str, *, directories: bool = False) -> ResolvedPath:
    """Resolve a path in the named root, or in the only one that has it.

    `directories` lets suggestions include directories. Raises RolltopError: CONFIG_INVALID,
    REPO_INVALID or one of `workspace.PathCode`.
    """
    meant, missing = candidate_roots(roots, repo, path)
    try:
        return (replace(roots, named=meant) if missing else roots).locate(path, root=repo)
    except PathError as problem:
        error = translate_error(problem, roots, repo, path, directories=directories)
        if missing:
            error.data["missing"] = missing
            error.hint += (
                f" Not searched: {', '.join(missing)}, whose root directory no longer exists."
            )
        raise error from None


def candidate_roots(roots: Roots, repo: str | None, path: str) -> RootSelection:
    """Select the roots that may contain a path: the one it or the call names, or all.

    Raises:
        InvalidConfig: no root is configured, or none of them exists any more.
        InvalidArgument: REPO_INVALID, no root of that name.

    """
    require_roots(roots)
    if repo is not None:
        named = _require_root(roots, repo, allowed=[root.name for root in roots.named])
    else:
        named = roots.find_root(
            next((part for part in path.split("/") if part not in {"", "."}), "")
        )
    return _present_roots(roots.named if named is None else (named,))


def root_name(located: ResolvedPath) -> str:
    """Name the root of the file or directory."""
    return located.root.name if located.root else MULTIPLE_ROOTS


def reader_tool(app: AppContext, located: ResolvedPath) -> str:
    """Name the call that reads a document in a binary format; empty if there is none."""
    if not has_document_name(located.path.name) or not app.registry.has_tools([_READER]):
        return ""
    path = f"{root_name(located)}/{located.relative}"
    return (
        f"Call {_READER} with file_path {value_preview(path)}: it reads PDF, DOCX, PPTX and EPUB."
    )


def translate_error(
    problem: PathError,
    roots: Roots,
    repo: str | None,
    path: str,
    *,
    directories: bool = False,
) -> RolltopError:
    """Convert a path error to this toolset's codes; the message shows no absolute path."""
    details: dict[str, object] = {} if repo is None else {"repo": repo}
    hint = f"Paths are relative to {_root_names(roots)}, as in {roots.named[0].name}/README.md."
    if problem.code == "PATH_AMBIGUOUS":
        details["candidates"] = list(problem.candidates)
        hint = "Add repo, or send one of the candidates as path."
    if problem.code == "FILE_NOT_FOUND":
        meant = suggest_paths(roots, path, repo=repo, directories=directories)
        details |= {"nearest": meant} if meant else {}
        hint = "Call repo_list_dir without path to see what is there."
        hint = f"Did you mean {meant[0]}? {hint}" if meant else hint + explain_hidden(path)
        hint = _explain_lines(roots, repo, path) or hint
    if problem.code == "FILE_UNREADABLE":
        hint = "Send the path of a regular file; repo_list_dir lists readable ones."
    absolute = path.startswith("/")
    message = _MESSAGES[problem.code]
    if problem.code == "PATH_OUT_OF_ROOT" and absolute:
        message = "path is absolute"
        inside = below_root_name(roots, path)
        hint = f"Did you mean {inside}? {hint}" if inside != path else hint
    if path.strip() and not absolute:
        details["path"] = _quote_argument(path)
    message = message.format(path="at that path" if absolute else value_preview(path))
    return NotFound(message, code=problem.code, hint=hint, data=details)


def _explain_lines(roots: Roots, repo: str | None, path: str) -> str:
    """Return the call that reads the lines that `a.py:10-20` names; empty where it is no file."""
    place = _LINES.fullmatch(path)
    if place is None:
        return ""
    try:
        roots.locate(place["path"], root=repo)
    except PathError:
        return ""
    return (
        f"Call repo_get_snippet with path {value_preview(place['path'])}, start_line "
        f"{int(place['start'])} and end_line {int(place['end'] or place['start'])}."
    )


def find_gone_roots(roots: Roots) -> InvalidConfig | None:
    """Describe the roots whose directories no longer exist; None if all do."""
    gone = [root for root in roots.named if not _is_present(root)]
    return _roots_gone(gone) if gone else None


def _present_roots(roots: Sequence[Root]) -> RootSelection:
    present = tuple(filter(_is_present, roots))
    if present:
        return RootSelection(present, [root.name for root in roots if root not in present])
    raise _roots_gone(roots)


def _roots_gone(roots: Sequence[Root]) -> InvalidConfig:
    names = ", ".join(root.name for root in roots)
    return InvalidConfig(
        f"Root directory of {names} no longer exists",
        hint="Restore it, or fix the setting that names it and restart the server.",
        data={"reason": "ROOT_NOT_FOUND", "repo": repo_label(roots)},
    )


def _is_present(root: Root) -> bool:
    """Report whether a root's directory exists and was not replaced by a link."""
    # Path.is_dir raises where a folder above may not be entered.
    there = os.path.isdir(root.path)  # noqa: PTH112 - never raises
    return there and os.path.realpath(root.path) == str(root.path)


def _require_root(roots: Roots, repo: str, allowed: Sequence[str]) -> Root:
    root = roots.find_root(repo)
    if root is None:
        raise InvalidArgument(
            f"Unknown repo {value_preview(repo)}; expected one of: {', '.join(allowed)}",
            code="REPO_INVALID",
            hint=f"Set repo to one of: {', '.join(allowed)}; or omit it.",
            data={"repo": _quote_argument(repo), "allowed": list(allowed)},
        )
    return root


def _root_names(roots: Roots) -> str:
    names = [root.name for root in roots.named]
    return f"the root {names[0]}" if len(names) == 1 else f"one of the roots {', '.join(names)}"


def _quote_argument(text: str) -> str:
    """Truncate an argument for an error."""
    return text if len(text) <= _MAX_ECHO_LENGTH else text[: _MAX_ECHO_LENGTH - 1] + "…"
