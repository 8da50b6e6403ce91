"""`rolltop tools`: the tools, and what listing them costs a client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rolltop.cli import local, options
from rolltop.core.lazy import lazy
from rolltop.core.scope import Scope

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from rolltop.core import budget
    from rolltop.core.desk import Desk
else:
    budget = lazy("rolltop.core.budget")


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON, with every schema")
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print each tool with its cost in tokens (cl100k_base), and the sum."""
    with local.opened(options.read_settings(arguments)) as desk:
        described = listing(desk)
    total = sum(tool["tokens"] for tool in described)
    if arguments.json:
        options.show(json.dumps({"tools": described, "tokens": total}, indent=2))
        return 0
    rows = [("tool", "toolset", "tokens", "title")]
    rows += [(t["name"], t["toolset"], f"{t['tokens']:,}", t["title"]) for t in described]
    for line in options.table([*rows, ("", "", f"{total:,}", "in all")]):
        options.show(line)
    return 0


def listing(desk: Desk) -> list[dict[str, Any]]:
    """Return each listed tool with its description, its schema and the tokens of these."""
    described: list[dict[str, Any]] = []
    for offer in desk.registry.listed(Scope.of("")):
        sent = {
            "name": offer.name,
            "description": offer.description,
            "inputSchema": offer.parameters.schema,
        }
        about = {"toolset": offer.toolset.name, "title": offer.title, "tokens": budget.count(sent)}
        described.append(sent | about)
    return described
