"""`rolltop completion`: its script, in the shell that it is for."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from rolltop.cli import COMMANDS

if TYPE_CHECKING:
    from tests.cli.conftest import Shell


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ser", ["serve"]),
        ("doc", ["doctor"]),
        ("user ", ["add", "list", "delete"]),
        ("user delete --y", ["--yes"]),
        ("install clau", ["claude-code", "claude-desktop"]),
        ("install zed --p", ["--print"]),
        ("call scratch_val", ["scratch_validate"]),
        ("call add_task title=x --us", ["--user"]),
        ("completion ", ["bash", "zsh", "fish"]),
        ("nonsense x", []),
    ],
)
def test_bash_completes_commands_tools_clients_and_options(
    shell: Shell, typed: str, found: list[str]
) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    words = ["rolltop", *typed.split(" ")]
    script = (
        f"{shell('completion', 'bash').out}\n"
        f"COMP_WORDS=({' '.join(word or chr(39) * 2 for word in words)})\n"
        f'COMP_CWORD={len(words) - 1}\n_rolltop\nprintf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    ran = subprocess.run([bash, "-c", script], capture_output=True, text=True, check=True)
    assert sorted(ran.stdout.split()) == sorted(found)


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_every_command_is_in_each_script(shell: Shell, name: str) -> None:
    script = shell("completion", name).out
    assert all(f'"{command}"' in script for command in COMMANDS)
    assert shell("completion", "tcsh").code == 2
