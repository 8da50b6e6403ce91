"""Takes the documentation's pictures of the page: `python -m tests.browsers.pictures`.

It needs what `make browsers` installs.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Playwright, sync_playwright

from rolltop.app import build_context
from rolltop.core.accounts import ensure_default_user
from rolltop.core.db import SYSTEM
from rolltop.core.dispatch import dispatch
from rolltop.core.principal import Principal
from rolltop.core.settings import CORE_SETTINGS, Settings
from rolltop.toolsets import TOOLSETS
from tests.browsers.desk_story import tell_story
from tests.browsers.keyboard_walk import walk
from tests.browsers.witness_chromium import FLAGS

IMAGES: Final = Path(__file__).parents[2] / "docs" / "images"
SIZE: Final = {"width": 1100, "height": 700}
SMALL: Final = {"width": 900, "height": 560}


def fill(data: Path) -> dict[str, str]:
    """Let an agent tell its story in a new store; return the ids of what it wrote."""
    declared = (*CORE_SETTINGS, *(s for toolset in TOOLSETS for s in toolset.settings))
    context = build_context(Settings.defaults(declared).replace({"data_dir": data}), http=True)
    user = context.database.write_sync(SYSTEM, ensure_default_user)
    principal = Principal.for_user(user.id, actor="claude-code")
    with asyncio.Runner() as runner:

        def call(name: str, /, **arguments: Any) -> Any:
            return runner.run(dispatch(context, name, principal, arguments)).structured

        ids = tell_story(call)
    context.close()
    return ids


def main() -> None:
    """Take the pictures."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        ids = fill(data)
        environment = {**os.environ, "ROLLTOP_DATA_DIR": str(data), "CODE_ROOT": folder}
        command = [sys.executable, "-m", "rolltop", "open", "--no-browser"]
        with (
            subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as served,
            sync_playwright() as playwright,
        ):
            assert served.stdout is not None
            try:
                take(playwright, served.stdout.readline().strip(), ids)
            finally:
                served.terminate()


def take(playwright: Playwright, link: str, ids: dict[str, str]) -> None:
    """Take the pictures of the page that a link lets in to."""
    origin = link.partition("/login")[0]
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
    page = browser.new_page(viewport=SIZE)
    page.goto(link)
    page.wait_for_url(f"{origin}/")
    for name, path, scheme in (
        ("page-home", "/", "light"),
        ("page-tasks", "/tasks", "dark"),
        ("page-pad", f"/pads/{ids['pad']}", "light"),
    ):
        page.emulate_media(color_scheme=scheme)
        page.goto(origin + path)
        page.screenshot(path=IMAGES / f"{name}.png")
    page.set_viewport_size(SMALL)
    page.emulate_media(color_scheme="light")
    page.goto(origin)

    def look(name: str) -> None:
        page.screenshot(path=IMAGES / f"keyboard-{name}.png")

    walk(page, "upload limit", "Release 2.4", "The customers were told on Monday.", look)
    browser.close()


if __name__ == "__main__":
    main()
