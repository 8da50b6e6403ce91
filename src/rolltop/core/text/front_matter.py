"""Front matter: the fields above the text of a Markdown file.

It is written as one JSON value a line, which is YAML too; of other programs any YAML
without aliases is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import yaml

_FRONT_MATTER: Final = re.compile(
    r"---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE
)
_MAX_YAML_LENGTH: Final = 1 << 18
_MAX_DIGITS: Final = 100
_ENTRY: Final = "- "


def render_front_matter(fields: Mapping[str, Any], text: str) -> bytes:
    """Render a Markdown file in UTF-8; of a list of objects, each gets a line."""
    lines = (f"{line}\n" for key, value in fields.items() for line in _field_lines(key, value))
    return f"---\n{''.join(lines)}---\n{text}".encode()


class _Loader(yaml.SafeLoader):
    """Reads YAML without aliases: a short file of them can stand for more than memory holds."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:  # noqa: ANN401  # a key or a place
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("an alias")
        return super().compose_node(parent, index)


def _construct_integer(loader: _Loader, node: yaml.ScalarNode) -> int:
    """Read a whole number, unless it is one that Python takes quadratic time for or won't show."""
    if len(node.value) > _MAX_DIGITS:
        raise yaml.YAMLError("a number without end")
    return loader.construct_yaml_int(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _construct_integer)


def parse_front_matter(whole: str) -> tuple[Mapping[str, Any], str]:
    """Split a file into the fields above its text and that text; no fields where it has none.

    What stands between two rules and holds no fields is part of the text, unless it is blank.
    Raises ValueError for what is neither JSON nor YAML, and for YAML with aliases.
    """
    found = _FRONT_MATTER.match(whole.removeprefix("\ufeff"))
    if found is None:
        return {}, whole
    text = whole.removeprefix("\ufeff")[found.end() :]
    try:
        return _parse_lines(found[1]), text
    except (ValueError, RecursionError):
        pass  # another program wrote it
    if len(found[1]) > _MAX_YAML_LENGTH:
        return {}, whole
    try:
        values: object = yaml.load(found[1], Loader=_Loader)  # noqa: S506  # a SafeLoader
    except Exception:  # noqa: BLE001  # a tag that does not suit its value raises any error
        raise ValueError("front matter that is not YAML") from None
    return (cast("Mapping[str, Any]", values), text) if isinstance(values, dict) else ({}, whole)


def _field_lines(key: str, value: Any) -> Iterator[str]:  # noqa: ANN401  # any JSON value
    entries = cast("list[Any]", value) if isinstance(value, list) else []
    if not any(isinstance(entry, dict) for entry in entries):
        yield f"{key}: {json.dumps(value, ensure_ascii=False)}"
        return
    yield f"{key}:"
    for entry in entries:
        yield _ENTRY + json.dumps(entry, ensure_ascii=False)


def _parse_lines(text: str) -> dict[str, Any]:
    """Parse what `_field_lines` wrote. Raises ValueError for anything else."""
    fields: dict[str, Any] = {}
    entries: list[Any] | None = None
    for line in [*filter(str.strip, text.split("\n")), None]:
        if line is not None and entries is not None and line.startswith(_ENTRY):
            entries.append(json.loads(line.removeprefix(_ENTRY)))
            continue
        if entries == []:
            raise ValueError("a field without a value")
        if line is not None:
            key, value = line.split(":", 1)
            if not key.isidentifier():
                raise ValueError("a comment or a text")
            entries = None if value.strip() else []
            fields[key] = json.loads(value) if entries is None else entries
    return fields
