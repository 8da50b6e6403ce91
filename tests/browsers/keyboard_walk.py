"""A walk through the page with the keyboard alone: find a note, change it, take that back."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Callable

    from playwright.sync_api import Page


def walk(
    page: Page, words: str, title: str, line: str, look: Callable[[str], None] = lambda _step: None
) -> None:
    """Go from the first screen to the undone change; `look` is told what there is to see."""

    def press_until(selector: str, key: str = "Tab") -> None:
        for _ in range(200):
            page.keyboard.press(key)
            if page.locator(selector).first.evaluate("e => e === document.activeElement"):
                return
        raise AssertionError(f"{key} never reaches {selector}")

    press_until("a.skip")
    press_until("header input[type=search]")
    page.keyboard.type(words)
    expect(page.locator("#results")).to_contain_text(title)
    look("search")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search"))
    press_until(f"#results a:has-text('{title}')")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/notes/"))
    press_until("a[href$='/edit']")
    page.keyboard.press("Enter")
    press_until("textarea[name=text]")
    page.keyboard.press("Control+End")
    page.keyboard.type(f"\n{line}")
    look("edit")
    press_until("button[value=save]")
    page.keyboard.press("Enter")
    expect(page.locator("article")).to_contain_text(line)
    press_until("a[aria-label^='Undo change']")
    page.keyboard.press("Enter")
    press_until("main form button")
    look("undo")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/journal$"))
