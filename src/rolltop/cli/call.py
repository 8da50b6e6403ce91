"""`rolltop call`: one tool from a shell, on the same path as every other call."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from rolltop.cli import local_context, options, render
from rolltop.cli.lazy_modules import dispatch, tool_schema
from rolltop.cli.progress_bar import ProgressBar
from rolltop.core import argument_names
from rolltop.core.argument_values import ValueReader
from rolltop.core.principal import Principal

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from rolltop.core.dispatch import RegisteredTool

_EPILOG: Final = (
    "A value is taken as text where the parameter is a text, and read as JSON elsewhere;"
    " a list may be written with commas: tags=bug,urgent."
    " Exit code: 0 done, 1 the tool answered an error, 2 wrong usage."
)


class UsageError(ValueError):
    """Arguments that cannot be sent to the tool at all."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument("tool", metavar="TOOL", help="`rolltop tools` lists them")
    parser.add_argument("pairs", metavar="KEY=VALUE", nargs="*", help="the tool's arguments")
    parser.add_argument(
        "--json",
        metavar="OBJECT",
        nargs="?",
        const="",
        help="print JSON, to a terminal too; the arguments may be one JSON object (-: from stdin)",
    )
    options.add_identity(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print the tool's answer, as JSON to programs; return 0, 1 for an error, 2 for wrong usage."""
    settings = options.read_settings(arguments)
    with local_context.open_context(settings) as context:
        try:
            registered = context.registry.find(arguments.tool, Principal.for_user(""))
            given = _arguments(arguments, registered)
            with ProgressBar(sys.stderr) as bar:
                answer = local_context.call_tool(context, registered, given, bar.report)
        except dispatch.UnknownTool as unknown:
            return _usage_error(f"{unknown.message.rstrip('?')}; `rolltop tools` lists the tools.")
        except UsageError as wrong:
            return _usage_error(str(wrong))
    if arguments.json is not None or not sys.stdout.isatty():
        options.print_line(answer.text)
    else:
        lines = render.error_lines if answer.is_error else render.answer_lines
        for line in lines(answer.structured):
            options.print_line(line)
    return 1 if answer.is_error else 0


def parse_pairs(pairs: list[str], schema: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments that KEY=VALUE pairs stand for. Raises UsageError."""
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"{pair!r} has no =; write KEY=VALUE, or give --json an object.")
        if name in given:
            raise UsageError(f"{name} is given twice.")
        given[name] = _parse_value(name, text, schema)
    return given


def _arguments(arguments: Namespace, registered: RegisteredTool) -> object:
    if not arguments.json:
        return parse_pairs(arguments.pairs, registered.parameters.schema)
    if arguments.pairs:
        raise UsageError("Give the arguments as KEY=VALUE or with --json, not both.")
    if arguments.json == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
        raise UsageError("--json - reads stdin, and stdin is closed.")
    try:
        text = sys.stdin.buffer.read() if arguments.json == "-" else arguments.json
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"--json got no JSON{place}.") from None


def _parse_value(name: str, text: str, schema: Mapping[str, Any]) -> object:
    """Return a value as its parameter wants it; an unknown one goes as it reads best."""
    part = _parameter(name, schema)
    if part is not None and _is_text(part, schema):
        return text
    is_list = part is not None and part.get("type") == "array"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if part is None or is_list:
            return text  # which the tool reads
        if (read := ValueReader().from_text(text, dict(part))) != text:
            return read
        allowed = tool_schema.describe_schema(part, dict(schema))
        raise UsageError(f"{name}={text} is no JSON; {name} is {allowed}.") from None
    return text if is_list and isinstance(value, str | int | float) else value


def _parameter(name: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a parameter by its own name or another that is accepted for it."""
    properties: Mapping[str, dict[str, Any]] = schema["properties"]
    if name in properties:
        return properties[name]
    meant = argument_names.canonical_names(name, properties, argument_names.PARAMETER_SYNONYMS)
    return properties[meant[0]] if meant else None


def _is_text(part: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    if "$ref" in part:
        return _is_text(schema["$defs"][part["$ref"].rsplit("/", 1)[1]], schema)
    if "anyOf" in part:
        return any(_is_text(choice, schema) for choice in part["anyOf"])
    return part.get("type") == "string"


def _usage_error(line: str) -> int:
    print(f"rolltop call: {line}", file=sys.stderr)  # noqa: T201  # a command's complaint
    return 2
