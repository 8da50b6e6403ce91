"""Settings as data, and the one reader of files, environment and command line."""

from __future__ import annotations

from rolltop.core.settings.core import (
    CORE_SETTINGS,
    HOST_RESULT_TOKENS,
    LEVELS,
    UNKNOWN_HOST_RESULT_TOKENS,
    require_home,
    user_directory,
)
from rolltop.core.settings.load import FILE_NAME, load, unknown_name_error
from rolltop.core.settings.settings import DEFAULT_SOURCE, Setting, SettingKind, Settings

__all__ = [
    "CORE_SETTINGS",
    "DEFAULT_SOURCE",
    "FILE_NAME",
    "HOST_RESULT_TOKENS",
    "LEVELS",
    "UNKNOWN_HOST_RESULT_TOKENS",
    "Setting",
    "SettingKind",
    "Settings",
    "load",
    "require_home",
    "unknown_name_error",
    "user_directory",
]
