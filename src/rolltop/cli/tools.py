"""`rolltop tools`: the tools, and what listing them costs a client."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from rolltop import health
from rolltop.cli import local_context, options


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.add_argument("--json", action="store_true", help="print JSON, with every schema")
    options.add_selection(parser)
    options.add_settings(parser)


def run(arguments: Namespace) -> int:
    """Print each tool with its cost in tokens (cl100k_base), and the sum."""
    with local_context.open_context(options.read_settings(arguments)) as context:
        described = health.list_tools(context)
    total = sum(tool["tokens"] for tool in described)
    if arguments.json:
        options.print_line(json.dumps({"tools": described, "tokens": total}, indent=2))
        return 0
    rows = [("tool", "toolset", "tokens", "title")]
    rows += [(t["name"], t["toolset"], f"{t['tokens']:,}", t["title"]) for t in described]
    options.print_table([*rows, ("", "", f"{total:,}", "in all")])
    return 0
