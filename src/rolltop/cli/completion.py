"""`rolltop completion`: what a shell needs to complete this program's commands and options."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from rolltop import cli
from rolltop.cli import client_configs, options
from rolltop.cli.lazy_modules import toolsets

# Each script is a function of the words before the cursor; `case` finds what may follow them.
_BASH: Final = """\
_rolltop() {
    local typed="${COMP_WORDS[*]:1:COMP_CWORD-1}" found
    case "$typed" in
%(cases)s
    esac
    COMPREPLY=($(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _rolltop rolltop
"""
_ZSH: Final = """\
#compdef rolltop
_rolltop() {
    local found
    case "${(j: :)words[2,CURRENT-1]}" in
%(cases)s
    esac
    compadd -- ${=found} || _files
}
compdef _rolltop rolltop
"""
_FISH: Final = """\
function __rolltop_complete
    set -l typed (commandline -opc)
    set -e typed[1]
    switch "$typed"
%(cases)s
    end
end
complete -c rolltop -a "(__rolltop_complete)"
"""
_SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def configure(parser: ArgumentParser) -> None:
    """Describe the arguments."""
    parser.epilog = (
        'bash: eval "$(rolltop completion bash)"; zsh: the same with zsh; '
        "fish: rolltop completion fish | source"
    )
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="whose script to print")


def run(arguments: Namespace) -> int:
    """Print the script."""
    render = _fish_case if arguments.shell == "fish" else _posix_case
    cases = [render(typed, words) for typed, words in _completions().items()]
    options.print_line(_SCRIPTS[arguments.shell] % {"cases": "\n".join(cases)})
    return 0


def _completions() -> Mapping[str, Sequence[str]]:
    """Return what may follow by the words typed before; those that are longer come first."""
    found: dict[str, Sequence[str]] = {}
    for name, (module, _) in cli.COMMANDS.items():
        parser = ArgumentParser(prog=name)
        parser.set_defaults(command=name)
        import_module(module).configure(parser)
        flags = [flag for action in parser._actions for flag in action.option_strings]  # noqa: SLF001  # argparse tells it nowhere else
        found[name] = sorted(flag for flag in flags if flag.startswith("--"))
    tools = [tool.name for toolset in toolsets.TOOLSETS for tool in toolset.tools]
    found["call"] = [*tools, *found["call"]]
    clients = [client.name for client in client_configs.clients()]
    for name in ("install", "uninstall"):
        found[name] = [*clients, *found[name]]
    found["completion"] = [*_SCRIPTS]
    for group in {name.split()[0] for name in found if " " in name}:
        found[group] = [name.split()[1] for name in found if name.startswith(f"{group} ")]
    first = {name.split()[0]: None for name in cli.COMMANDS}
    ordered = dict(sorted(found.items(), key=lambda pair: -pair[0].count(" ")))
    return {**ordered, "": [*first, "--help", "--version"]}


def _posix_case(typed: str, words: Sequence[str]) -> str:
    pattern = f'"{typed}" | "{typed} "*' if typed else '""'
    return f'    {pattern}) found="{" ".join(words)}" ;;'


def _fish_case(typed: str, words: Sequence[str]) -> str:
    pattern = f'"{typed}" "{typed} *"' if typed else '""'
    return f"        case {pattern}\n            printf '%s\\n' {' '.join(words)}"
