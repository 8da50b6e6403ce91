"""`rolltop call`: one tool from a shell, on the same path as every other call."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Final

from rolltop.cli import local, options
from rolltop.cli.progress import ProgressBar
from rolltop.core.lazy import lazy
from rolltop.core.scope import Scope

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Mapping

    from rolltop.core import arguments as core_arguments
    from rolltop.core import registry
    from rolltop.core.registry import Offer
else:
    core_arguments = lazy("rolltop.core.arguments")
    registry = lazy("rolltop.core.registry")

_EPILOG: Final = (
    "A value is taken as text where the parameter is a text, and read as JSON elsewhere."
    " Exit code: 0 done, 1 the tool answered an error, 2 wrong usage."
)


class WrongUsage(ValueError):
    """Arguments that cannot be sent to the tool at all."""


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.epilog = _EPILOG
    parser.add_argument("tool", metavar="TOOL", help="`rolltop tools` lists them")
    parser.add_argument("pairs", metavar="KEY=VALUE", nargs="*", help="the tool's arguments")
    parser.add_argument(
        "--json", metavar="OBJECT", help="the arguments as one JSON object; - reads it from stdin"
    )
    options.add_user(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print the tool's answer as JSON; return 0, 1 if it is an error, 2 for wrong usage."""
    settings = options.read_settings(arguments)
    with local.opened(settings) as desk:
        try:
            offer = desk.registry.find(arguments.tool, Scope.of(""))
            given = _arguments(arguments, offer)
        except registry.UnknownTool as unknown:
            return _wrong(f"{unknown.message.rstrip('?')}; `rolltop tools` lists the tools.")
        except WrongUsage as wrong:
            return _wrong(str(wrong))
        with ProgressBar(sys.stderr) as bar:
            answer = local.answer(desk, offer, given, bar.report)
    if sys.stdout.isatty():
        options.show(json.dumps(answer.structured, ensure_ascii=False, indent=2))
    else:
        options.show(answer.text)
    return 1 if answer.is_error else 0


def from_pairs(pairs: list[str], schema: Mapping[str, Any]) -> dict[str, object]:
    """Return the arguments that KEY=VALUE pairs stand for. Raises WrongUsage."""
    given: dict[str, object] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise WrongUsage(f"{pair!r} has no =; write KEY=VALUE, or give --json an object.")
        if name in given:
            raise WrongUsage(f"{name} is given twice.")
        given[name] = _value(name, text, schema)
    return given


def _arguments(arguments: Namespace, offer: Offer) -> object:
    if arguments.json is None:
        return from_pairs(arguments.pairs, offer.parameters.schema)
    if arguments.pairs:
        raise WrongUsage("Give the arguments as KEY=VALUE or with --json, not both.")
    if arguments.json == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # None when started without one
        raise WrongUsage("--json - reads stdin, and stdin is closed.")
    try:
        text = sys.stdin.buffer.read() if arguments.json == "-" else arguments.json
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        place = f" (line {error.lineno})" if isinstance(error, json.JSONDecodeError) else ""
        raise WrongUsage(f"--json got no JSON{place}.") from None


def _value(name: str, text: str, schema: Mapping[str, Any]) -> object:
    """Return a value as its parameter wants it; an unknown one goes as it reads best."""
    part = _parameter(name, schema)
    if part is not None and _is_text(part, schema):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if part is None:
            return text
        allowed = core_arguments.describe(part, dict(schema))
        raise WrongUsage(f"{name}={text} is no JSON; {name} is {allowed}.") from None


def _parameter(name: str, schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the schema of a parameter by its own name or another that is accepted for it."""
    properties: Mapping[str, dict[str, Any]] = schema["properties"]
    if name in properties:
        return properties[name]
    for own, others in core_arguments.OTHER_NAMES.items():
        if own in properties and name in others:
            return properties[own]
    return None


def _is_text(part: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    if "$ref" in part:
        return _is_text(schema["$defs"][part["$ref"].rsplit("/", 1)[1]], schema)
    if "anyOf" in part:
        return any(_is_text(choice, schema) for choice in part["anyOf"])
    return part.get("type") == "string"


def _wrong(line: str) -> int:
    print(f"rolltop call: {line}", file=sys.stderr)  # noqa: T201  # a command's complaint
    return 2
