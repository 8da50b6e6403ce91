"""Writes docs/reference and the README's list of tools from the declarations.

`python scripts/reference.py` writes the pages; `--check` writes nothing and fails when one is not
what it would write.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rolltop.core import pagination, token_counter
from rolltop.core.argument_names import FIELD_SYNONYMS, PARAMETER_SYNONYMS
from rolltop.core.dispatch import ToolRegistry
from rolltop.core.errors import RolltopError
from rolltop.core.principal import READ, WRITE, Principal
from rolltop.core.settings import CORE_SETTINGS, Setting
from rolltop.core.tool_schema import describe_schema
from rolltop.toolsets import TOOLSETS
from rolltop.toolsets.scratch.syntax.checker import LANGUAGES, OTHER_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rolltop.core.dispatch import RegisteredTool

ROOT: Final = Path(__file__).resolve().parents[1]
FOLDER: Final = ROOT / "docs" / "reference"
README: Final = ROOT / "README.md"
README_BEGIN: Final = "<!-- tools: written by make docs -->\n"
README_END: Final = "<!-- /tools -->\n"
MADE: Final = "<!-- Written by `make docs` from the declarations in the source. -->"
EVERYONE: Final = Principal("", "", permissions=frozenset({READ, WRITE}))
FAULT: Final = "A fault of ours; the message holds a reference to the line in the log."
OWN_FIELDS: Final = {
    own: others for own, others in FIELD_SYNONYMS.items() if others != PARAMETER_SYNONYMS.get(own)
}
UNTRUSTED: Final = {
    "no": "nothing",
    "inside": "paths inside it",
    "down": "a lower value",
    "free": "any value",
}


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a Markdown table, with an empty line after it."""
    yield f"| {' | '.join(heads)} |"
    yield f"|{' --- |' * len(heads)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"
    yield ""


def code(text: object) -> str:
    """The text as inline code; empty stays empty."""
    return f"`{text}`" if str(text) else ""


def page(title: str, introduction: str, lines: Iterable[str]) -> str:
    """A whole page."""
    return "\n".join([f"# {title}", "", MADE, "", introduction, "", *lines]).rstrip("\n") + "\n"


def cost(offers: Iterable[RegisteredTool]) -> int:
    """What the tools cost a model to know, in tokens: name, description and input schema."""
    return sum(
        token_counter.count(
            pagination.compact_json(
                {
                    "name": offer.name,
                    "description": offer.description,
                    "inputSchema": offer.parameters.listed_schema,
                }
            )
        )
        for offer in offers
    )


def tools() -> str:
    """The page of all tools."""
    offers = ToolRegistry(TOOLSETS).list_tools(EVERYONE)
    introduction = (
        f"{len(offers)} tools, {cost(offers):,} tokens to list (name, description, input schema)."
    )
    return page("Tools", introduction, [*tool_sections(offers), *other_names()])


def other_names() -> Iterator[str]:
    """The lines about what is accepted besides what is listed."""
    yield "## What is accepted besides"
    yield ""
    yield (
        "null, and an empty text save where that is a value of its own, are the same as left out."
        ' What is no text is also taken as text ("5", "true", a list or an object as JSON), one'
        " value as a list of one (a text not if commas, semicolons or lines part it), and a name in"
        " camelCase too. In scratch, the title, description and summary of a pad, the fields of its"
        " one cell or edit and a JSON Schema without what holds it may stand beside the other"
        " arguments. These other names are accepted where the tool has no argument or field of"
        " that name; they are in no schema."
    )
    yield ""
    for head, names in (("argument", PARAMETER_SYNONYMS), ("field of an object", OWN_FIELDS)):
        rows = ((code(own), ", ".join(map(code, others))) for own, others in names.items())
        yield from table((head, "also"), rows)


def tool_sections(offers: Sequence[RegisteredTool]) -> Iterator[str]:
    """The lines of every toolset, each with its tools."""
    for toolset in TOOLSETS:
        yield f"## {toolset.name}"
        yield ""
        yield toolset.summary
        yield ""
        for offer in offers:
            if offer.toolset is toolset:
                yield from tool_section(offer)


def tool_section(offer: RegisteredTool) -> Iterator[str]:
    """The lines of one tool."""
    tool = offer.tool
    yield f"### {offer.name}"
    yield ""
    yield offer.description
    yield ""
    hints = {
        "reads only": tool.is_read_only,
        "destructive": tool.destructive,
        "idempotent": tool.idempotent and not tool.is_read_only,
        "reaches outside": tool.open_world,
    }
    said = ", ".join(hint for hint, holds in hints.items() if holds) or "writes"
    yield f"*{offer.title}*: {said}; {cost([offer]):,} tokens."
    if tool.other_names:
        yield f"Also called {', '.join(map(code, tool.other_names))}; never listed so."
    for seed in tool.other_aliases:
        fixed = ", ".join(f"{name}={value}" for name, value in seed.fixed_arguments.items())
        yield f"Also called {code(seed.name)}{f' (fixes {fixed})' if fixed else ''}."
    yield ""
    yield from parameters(offer.parameters.schema)


def parameters(schema: dict[str, Any]) -> Iterator[str]:
    """The lines of a tool's parameters."""
    required = schema.get("required", [])
    properties: dict[str, dict[str, Any]] = schema.get("properties", {})
    if not properties:
        yield "No parameters."
        yield ""
        return
    yield from table(
        ("parameter", "value", "default", "what it is"),
        (
            (
                code(name),
                describe_schema(part, schema),
                "required" if name in required else code(part.get("default", "")),
                str(part.get("description", "")),
            )
            for name, part in properties.items()
        ),
    )


def readme() -> str:
    """The README with its list of tools as it is now."""
    before, begin, rest = README.read_text(encoding="utf-8").partition(README_BEGIN)
    _, end, after = rest.partition(README_END)
    if not begin or not end:
        raise ValueError(f"README.md has no place for the tools: {README_BEGIN}…{README_END}")
    rows = (
        (code(offer.name), first_sentence(offer.description), f"{cost([offer]):,}")
        for offer in ToolRegistry(TOOLSETS).list_tools(EVERYONE)
    )
    lines = table(("tool", "what it does", "tokens to list"), rows)
    return "\n".join([before + begin, *lines, end + after])


def first_sentence(description: str) -> str:
    """What a description says first, on one line."""
    paragraph = " ".join(description.partition("\n\n")[0].split())
    return paragraph.partition(". ")[0].rstrip(".") + "."


def settings() -> str:
    """The page of all settings."""
    introduction = (
        "Defaults < `rolltop.toml` in the user's configuration directory < files in the working"
        " directory < `--config FILE` < environment < command line. The last column says what files"
        " in the working directory may set: they are not trusted."
    )
    return page("Settings", introduction, setting_sections())


def setting_sections() -> Iterator[str]:
    """The lines of core's settings and of each toolset's."""
    for title, declared in [("core", CORE_SETTINGS), *((t.name, t.settings) for t in TOOLSETS)]:
        if declared:
            yield f"## {title}"
            yield ""
            yield from table(
                ("setting", "what it is", "value", "default", "environment", "working directory"),
                map(setting_row, declared),
            )


def setting_row(setting: Setting) -> tuple[str, ...]:
    """The cells of one setting."""
    default = setting.computed or code(shown(setting.default))
    names = (setting.variable, *setting.environment, *(name for name, _ in setting.entries))
    return (
        code(setting.key),
        setting.help,
        setting.allowed_values,
        default,
        ", ".join(map(code, names)),
        UNTRUSTED[setting.untrusted],
    )


def shown(default: object) -> str:
    """A default as a user would write it; nothing for none."""
    if isinstance(default, bool):
        return "on" if default else "off"
    if default is None or default in ((), {}):
        return ""
    return str(default)


def errors() -> str:
    """The page of all error codes."""
    introduction = (
        "Every failure of a tool is a result with `isError: true`, one of these codes, a message"
        " about the values given and a hint that names the call that repairs it."
    )
    return page("Errors", introduction, error_sections())


def error_sections() -> Iterator[str]:
    """The lines of core's codes and of each toolset's."""
    tree = sorted(descendants(RolltopError), key=lambda kind: kind.default_code)
    codes = {RolltopError.default_code: FAULT}
    for kind in tree:
        codes.setdefault(kind.default_code, first_line(kind))  # the kinds below share its code
    for title, known in [("core", codes), *((t.name, t.error_codes) for t in TOOLSETS)]:
        yield f"## {title}"
        yield ""
        yield from table(("code", "meaning"), ((code(name), said) for name, said in known.items()))


def languages() -> str:
    """The page of the languages of cells."""
    introduction = (
        "What a scratch cell's `language` may be, in any case. It is stored by the first name, and"
        " the cell is checked by a parser of the language. Any other word of up to 64 characters is"
        " kept as given, and the cell is text that is not checked."
    )
    rows = ((code(name), ", ".join(map(code, OTHER_NAMES.get(name, ())))) for name in LANGUAGES)
    return page("Languages of cells", introduction, table(("language", "other names"), rows))


def descendants(kind: type[RolltopError]) -> Iterator[type[RolltopError]]:
    """The error classes of core below `kind`."""
    for below in kind.__subclasses__():
        if below.__module__ == RolltopError.__module__:
            yield below
            yield from descendants(below)


def first_line(kind: type[RolltopError]) -> str:
    """What a class says of itself first."""
    return (kind.__doc__ or "").strip().split("\n")[0]


def pages() -> dict[Path, str]:
    """Every page by its path."""
    return {
        FOLDER / "tools.md": tools(),
        FOLDER / "settings.md": settings(),
        FOLDER / "errors.md": errors(),
        FOLDER / "languages.md": languages(),
        README: readme(),
    }


def stale() -> list[Path]:
    """The pages that are missing or not what would be written."""
    return [
        path
        for path, text in pages().items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]


def main() -> int:
    """0 when the pages are written, or, with --check, up to date; 1 when they are not."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when out of date")
    if parser.parse_args().check:
        old = stale()
        for path in old:
            print(f"{path.name} is out of date: run make docs", file=sys.stderr)
        return 1 if old else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
