"""Settings as data, and the one reader of files, environment and command line."""

from __future__ import annotations

from rolltop.core.settings.core import CORE_SETTINGS, LEVELS, user_directory
from rolltop.core.settings.declaration import Kind, Setting
from rolltop.core.settings.load import load, unknown
from rolltop.core.settings.settings import DEFAULT, Settings

__all__ = [
    "CORE_SETTINGS",
    "DEFAULT",
    "LEVELS",
    "Kind",
    "Setting",
    "Settings",
    "load",
    "unknown",
    "user_directory",
]
