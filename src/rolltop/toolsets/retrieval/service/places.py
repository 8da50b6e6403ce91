"""Which root and which file or directory a call means, and what is wrong where it means none."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from rolltop.core.arguments import shown
from rolltop.core.errors import ConfigInvalid, Invalid, NotFound, RolltopError
from rolltop.core.roots import Located, PathProblem
from rolltop.core.roots.near import near
from rolltop.toolsets.retrieval.models import BOTH
from rolltop.toolsets.retrieval.service.answers import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolltop.core.desk import Desk
    from rolltop.core.roots import Root, Roots

_READER: Final = "smart_read"
"""The tool of another toolset, which may not be offered."""
_DOCUMENTS: Final = frozenset({".pdf", ".docx", ".pptx", ".epub"})
_WHAT: Final = {
    "PATH_EMPTY": "path is blank",
    "PATH_OUT_OF_ROOT": "path leads out of the roots",
    "PATH_AMBIGUOUS": "Several roots have {path}",
    "FILE_NOT_FOUND": "There is no file {path}",
    "FILE_UNREADABLE": "{path} is no regular file, or may not be read",
}


def require_roots(roots: Roots) -> None:
    """Raise CONFIG_INVALID where no root is configured."""
    if not roots.named:
        raise ConfigInvalid(
            "No root is configured, so there is nothing to search or read",
            hint="Set DOCS_ROOT or CODE_ROOT, or name folders under [retrieval.roots] in "
            "rolltop.toml, and start the server again.",
            data={"reason": "MISSING_ROOT"},
        )


class Chosen(NamedTuple):
    """The roots that a call means and that are there, and the names of those that are not."""

    present: tuple[Root, ...]
    missing: list[str]
    """Their folders were moved or removed since the start: an answer always names them."""


def chosen_roots(roots: Roots, repo: str | None) -> Chosen:
    """Return the roots a search looks through: the one that is named, or all that are there.

    Raises:
        ConfigInvalid: no root is configured, or none of those meant is there any more.
        Invalid: REPO_INVALID, no root of that name.

    """
    require_roots(roots)
    chosen = roots.named
    if repo is not None and repo != BOTH:
        chosen = (_root(roots, repo, allowed=[BOTH, *(root.name for root in roots.named)]),)
    return _present(chosen)


def repo_of(roots: Sequence[Root]) -> str:
    """Return the roots' name, or `both` for more than one."""
    return roots[0].name if len(roots) == 1 else BOTH


def locate(roots: Roots, repo: str | None, path: str, *, directories: bool = False) -> Located:
    """Return the file or directory a path means, in the root named or the only one that has it.

    Where there is none, `directories` tells which of the two may have been meant.

    Raises:
        RolltopError: CONFIG_INVALID, REPO_INVALID or one of `core.roots.PathCode`.

    """
    meant, missing = looked_in(roots, repo, path)
    try:
        return (replace(roots, named=meant) if missing else roots).locate(path, root=repo)
    except PathProblem as problem:
        error = explained(problem, roots, repo, path, directories=directories)
        if missing:
            error.data["missing"] = missing
            error.hint += (
                f" Nor could it be looked for in {', '.join(missing)}: the folder is gone."
            )
        raise error from None


def looked_in(roots: Roots, repo: str | None, path: str) -> Chosen:
    """Return the roots in which a path may lie: the one that it or the call names, or all.

    Raises:
        ConfigInvalid: no root is configured, or none of those meant is there any more.
        Invalid: REPO_INVALID, no root of that name.

    """
    require_roots(roots)
    if repo is not None:
        named = _root(roots, repo, allowed=[root.name for root in roots.named])
    else:
        named = roots.root(next((part for part in path.split("/") if part not in {"", "."}), ""))
    return _present(roots.named if named is None else (named,))


def name_of(located: Located) -> str:
    """Return the name of the root that holds the file or directory."""
    return located.root.name if located.root else BOTH


def read_by_reader(desk: Desk, located: Located) -> str:
    """Return what to call for a document that is no text but can be read as one; else nothing."""
    if located.path.suffix.lower() not in _DOCUMENTS or not desk.registry.offers([_READER]):
        return ""
    path = f"{name_of(located)}/{located.relative}"
    return f"Call {_READER} with file_path {shown(path)}: it reads PDF, DOCX, PPTX and EPUB."


def explained(
    problem: PathProblem,
    roots: Roots,
    repo: str | None,
    path: str,
    *,
    directories: bool = False,
) -> RolltopError:
    """Return a path's problem in this toolset's words, which show no absolute path."""
    details: dict[str, object] = {} if repo is None else {"repo": repo}
    hint = f"Paths are relative to {_names(roots)}, as in {roots.named[0].name}/README.md."
    if problem.code == "PATH_AMBIGUOUS":
        details["candidates"] = list(problem.candidates)
        hint = "Call again with repo, or with one of the candidates as path."
    if problem.code == "FILE_NOT_FOUND":
        meant = near(roots, path, repo=repo, directories=directories)
        details |= {"nearest": meant} if meant else {}
        hint = "Call repo_list_dir without path to see what is there."
        hint = f"Did you mean {meant[0]}? {hint}" if meant else hint
    if problem.code == "FILE_UNREADABLE":
        hint = "Give the path of a regular file; repo_list_dir shows those that can be read."
    absolute = path.startswith("/")
    if path.strip() and not absolute:
        details["path"] = cut(path)
    message = _WHAT[problem.code].format(path="of that name" if absolute else shown(path))
    return NotFound(message, code=problem.code, hint=hint, data=details)


def _present(roots: Sequence[Root]) -> Chosen:
    """Return which of these roots are there. Raises CONFIG_INVALID where none is any more."""
    present = tuple(filter(_is_present, roots))
    if present:
        return Chosen(present, [root.name for root in roots if root not in present])
    names = ", ".join(root.name for root in roots)
    raise ConfigInvalid(
        f"Of {names} there is no folder any more where it was when the server started",
        hint="Put it back; or correct the setting that names it, and start the server again.",
        data={"reason": "ROOT_NOT_FOUND", "repo": repo_of(roots)},
    )


def _is_present(root: Root) -> bool:
    """Return whether a root's folder is where it was: nothing is read through a link put there."""
    # Path.is_dir raises where a folder above may not be entered.
    there = os.path.isdir(root.path)  # noqa: PTH112 - never raises
    return there and os.path.realpath(root.path) == str(root.path)


def _root(roots: Roots, repo: str, allowed: Sequence[str]) -> Root:
    root = roots.root(repo)
    if root is None:
        raise Invalid(
            f"repo {shown(repo)} is not one of: {', '.join(allowed)}",
            code="REPO_INVALID",
            hint=f"Call again with repo as one of: {', '.join(allowed)}; or leave it out.",
            data={"repo": cut(repo), "allowed": list(allowed)},
        )
    return root


def _names(roots: Roots) -> str:
    names = [root.name for root in roots.named]
    return f"the root {names[0]}" if len(names) == 1 else f"one of the roots {', '.join(names)}"
