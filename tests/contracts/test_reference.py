"""The generated pages are what the declarations say, and they miss nothing."""

from __future__ import annotations

from rolltop.core.settings import CORE_SETTINGS
from rolltop.toolsets import TOOLSETS
from scripts.reference import pages, stale


def page(name: str) -> str:
    """The text of one generated page."""
    return next(text for path, text in pages().items() if path.name == name)


def test_pages_are_up_to_date() -> None:
    assert [path.name for path in stale()] == [], "run make docs"


def test_every_tool_and_each_of_its_names_is_on_the_page() -> None:
    text = page("tools.md")
    for toolset in TOOLSETS:
        for tool in toolset.tools:
            assert f"### {tool.name}\n" in text
            assert all(f"`{seed.name}`" in text for seed in tool.other_aliases)


def test_every_setting_is_on_the_page_with_its_environment_variable() -> None:
    text = page("settings.md")
    for setting in [*CORE_SETTINGS, *(s for toolset in TOOLSETS for s in toolset.settings)]:
        assert f"| `{setting.key}` |" in text
        assert f"`{setting.variable}`" in text


def test_every_code_is_on_the_page() -> None:
    text = page("errors.md")
    for toolset in TOOLSETS:
        section = text.partition(f"\n## {toolset.name}\n")[2].partition("\n## ")[0]
        assert all(f"| `{code}` |" in section for code in toolset.error_codes)
