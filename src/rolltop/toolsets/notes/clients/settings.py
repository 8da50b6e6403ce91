"""The settings of Simplenote and its sync."""

from __future__ import annotations

from typing import Final

from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import Setting, Settings

_PREFIX: Final = "SIMPLENOTE_"

SETTINGS: Final = (
    Setting(
        "notes.simplenote.username",
        "text",
        "",
        "The e-mail of the Simplenote account; goes with a password or a token.",
        environment=("SIMPLENOTE_USERNAME",),
        family=_PREFIX,
    ),
    Setting(
        "notes.simplenote.password",
        "text",
        "",
        "The password of the Simplenote account.",
        secret=True,
        environment=("SIMPLENOTE_PASSWORD",),
    ),
    Setting(
        "notes.simplenote.token",
        "text",
        "",
        "A token of the Simplenote account, instead of the one that `rolltop notes login` stores.",
        secret=True,
        environment=("SIMPLENOTE_TOKEN",),
    ),
    Setting(
        "notes.simplenote.account_url",
        "url",
        "https://app.simplenote.com/account",
        "The address that mails codes for the login.",
        environment=("SIMPLENOTE_ACCOUNT_URL",),
    ),
    Setting(
        "notes.simplenote.request_source",
        "text",
        "electron",
        "The client that the login names; a token's permissions depend on it.",
        environment=("SIMPLENOTE_REQUEST_SOURCE",),
    ),
    Setting(
        "notes.simperium.auth_url",
        "url",
        "https://auth.simperium.com/1",
        "The address that checks passwords, up to and including /1.",
        environment=("SIMPERIUM_AUTH_URL",),
    ),
    Setting(
        "notes.simperium.api_url",
        "url",
        "https://api.simperium.com/1",
        "The address of the notes, up to and including /1.",
        environment=("SIMPERIUM_API_URL",),
    ),
    Setting(
        "notes.simperium.app_id",
        "text",
        "chalk-bump-f49",
        "Simplenote's name at Simperium.",
        environment=("SIMPERIUM_APP_ID",),
    ),
    Setting(
        "notes.simperium.api_key",
        "text",
        "e2f0978acfea407aa23fdf557478d3f2",
        "Simplenote's public key at Simperium.",
        environment=("SIMPERIUM_API_KEY",),
    ),
    Setting(
        "notes.sync_interval",
        "duration",
        300,
        "Time from the end of a sync to the start of the next.",
        minimum=60,
        environment=("SYNC_INTERVAL_SECONDS",),
    ),
    Setting(
        "notes.api_timeout",
        "duration",
        30,
        "Time limit of one request to Simplenote.",
        minimum=5,
        environment=("API_TIMEOUT_SECONDS",),
        untrusted="down",
    ),
    Setting(
        "notes.offline_writes",
        "flag",
        default=False,
        help="Queue changes while Simplenote is unreachable, marked pending, and send them later.",
    ),
)


def check_settings(settings: Settings) -> None:
    """Check that an account in the settings comes with its credentials.

    Raises InvalidConfig: a name without password and token, or one of these without a name.
    """
    has_name = bool(settings["notes.simplenote.username"])
    has_proof = bool(settings["notes.simplenote.password"] or settings["notes.simplenote.token"])
    if has_name and not has_proof:
        raise InvalidConfig(
            "SIMPLENOTE_USERNAME is set without SIMPLENOTE_PASSWORD or SIMPLENOTE_TOKEN",
            hint="Set one of them, or neither and use `rolltop notes login`.",
        )
    if has_proof and not has_name:
        raise InvalidConfig(
            "SIMPLENOTE_PASSWORD or SIMPLENOTE_TOKEN is set without SIMPLENOTE_USERNAME",
            hint="Set it to the e-mail of the Simplenote account.",
        )
