"""Globs as callers write them, in which paths of answers and of the file system are themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rolltop.core.lazy_imports import lazy
from rolltop.workspace.globs import FileGlob, split_list
from rolltop.workspace.sandbox import Root, Roots, is_possible_path

if TYPE_CHECKING:
    from rolltop.core import addresses
else:  # as in the sandbox
    addresses = lazy("rolltop.core.addresses")

# Before the path in a part of a list.
_LEAD: Final = re.compile(r"[ \t]*!?(?:\./+)*")
_NAME: Final = re.compile(r"[^/]+")
# A name with a star stays a glob, even if a file is called so by accident.
_NO_NAME: Final = re.compile(r"[*?]|\A\.\.?\Z")
_SIGN: Final = re.compile(r"[\\\[\]{},]|\A!")
# The beginning of a glob that stands for itself.
_LITERAL: Final = re.compile(r"[^*?\[{\\]*")


@dataclass(frozen=True, slots=True)
class GlobResolver:
    """Writes callers' globs so that what exists as it is written is meant.

    Names that exist, from a root's top on, are quoted. The address of a file and an absolute path
    inside a root become one after the root's name. Of a file with a glob below it the file remains,
    if the glob matches it. At the start, the name of the only root means a folder of that name
    where `Roots.locate` takes it for one.
    """

    roots: Roots
    chosen: Sequence[Root]
    """Those of the roots that the globs are for."""

    def resolve(self, glob: str) -> str:
        """Return the glob, or list of globs, in the syntax of `FileGlob`."""
        return "\n".join(
            ",".join(map(self._resolve_part, split_list(line))) for line in glob.split("\n")
        )

    def _resolve_part(self, part: str) -> str:
        lead = _LEAD.match(part)
        start = lead[0] if lead and not self._is_name(part) else ""
        glob = part[len(start) :]
        below = below_root_name(self.roots, glob)
        names = _NAME.findall(below)
        root = next((r for r in self.chosen if [r.name] == names[:1] and below[0] != "/"), None)
        if root is None:
            root = max(self.chosen, key=lambda one: _count_present(one, names))
            return start + self._quote(root, below, names, 0)
        if below == glob and len(self.chosen) == 1 and self._is_folder(root, names):
            below, names = f"{root.name}/{below}", [root.name, *names]
        return start + self._quote(root, below, names, 1)

    def _is_name(self, part: str) -> bool:
        """Whether a part that begins like an exception is a path, from a root's top on."""
        names = _NAME.findall(part) if part.startswith("!") else []
        return any(0 < len(names) == _count_present(root, names) for root in self.chosen)

    def _is_folder(self, root: Root, names: Sequence[str]) -> bool:
        """Whether a root's name is that of a folder in it, and not its own, by what it has."""
        return _count_present(root, names) > _count_present(root, names[1:])

    def _quote(self, root: Root, glob: str, names: Sequence[str], first: int) -> str:
        """Quote those of a glob's names, from the `first` on, that the root has."""
        depth = first + _count_present(root, names[first:])
        relative = "/".join(names[first:depth])
        ends = [name.end() for name in _NAME.finditer(glob)]
        at = ends[depth - 1] if depth else 0
        head, rest = _SIGN.sub(r"\\\g<0>", glob[:at]), glob[at:]
        below = rest.strip("/")
        # Path.is_file raises where a folder above may not be entered.
        if below and os.path.isfile(root.absolute_path(relative)):  # noqa: PTH113
            rest = "" if FileGlob(below).matches(relative) else rest
        is_changed = (head, rest) != (glob[:at], glob[at:])
        return head + rest if is_changed and self.roots.is_included(root, relative) else glob


def below_root_name(roots: Roots, path: str) -> str:
    """Return the address of a file, or an absolute path or glob inside a root, from its name on.

    Any other text is returned as it is.
    """
    address = addresses.parse_file_address(path)
    if address is not None and roots.find_root(address.root):
        return f"{address.root}/{address.path}"
    literal = _LITERAL.match(path)
    if not path.startswith("/") or literal is None:
        return path
    folder = path if literal[0] == path else path[: literal[0].rfind("/") + 1]
    if not is_possible_path(folder):
        return path
    real = os.path.realpath(folder)
    for root in sorted(roots.named, key=lambda each: len(str(each.path)), reverse=True):
        if real == str(root.path) or real.startswith(root.absolute_path("")):
            below = real[len(str(root.path)) :].strip("/")
            return "/".join(filter(None, (root.name, below, path[len(folder) :])))
    return path


def _count_present(root: Root, names: Sequence[str]) -> int:
    """Count the names from the root's top on that exist as they are written."""
    for count, name in enumerate(names):
        path = root.absolute_path("/".join(names[: count + 1]))
        if _NO_NAME.search(name) or not os.path.lexists(path):
            return count
    return len(names)
