"""The settings of Simplenote and its sync."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rolltop.core.errors import ConfigInvalid
from rolltop.core.settings import Setting

if TYPE_CHECKING:
    from rolltop.core.settings import Settings

_FAMILY: Final = "SIMPLENOTE_"

SETTINGS: Final = (
    Setting(
        "notes.simplenote.username",
        "text",
        "",
        "The e-mail of the Simplenote account; goes with a password or a token.",
        environment=("SIMPLENOTE_USERNAME",),
        family=_FAMILY,
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
        "A token of the Simplenote account, in place of the one `rolltop notes login` keeps.",
        secret=True,
        environment=("SIMPLENOTE_TOKEN",),
    ),
    Setting(
        "notes.simplenote.account_url",
        "url",
        "https://app.simplenote.com/account",
        "Where codes for the login are asked for.",
        environment=("SIMPLENOTE_ACCOUNT_URL",),
    ),
    Setting(
        "notes.simplenote.request_source",
        "text",
        "electron",
        "What the login says it comes from; a token's reach depends on it.",
        environment=("SIMPLENOTE_REQUEST_SOURCE",),
    ),
    Setting(
        "notes.simperium.auth_url",
        "url",
        "https://auth.simperium.com/1",
        "Where passwords are checked, up to and including /1.",
        environment=("SIMPERIUM_AUTH_URL",),
    ),
    Setting(
        "notes.simperium.api_url",
        "url",
        "https://api.simperium.com/1",
        "Where notes are kept, up to and including /1.",
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
        "How long after the end of a sync the next one starts.",
        minimum=60,
        environment=("SYNC_INTERVAL_SECONDS",),
    ),
    Setting(
        "notes.api_timeout",
        "duration",
        30,
        "How long one request to Simplenote may take.",
        minimum=5,
        environment=("API_TIMEOUT_SECONDS",),
        untrusted="down",
    ),
    Setting(
        "notes.offline_writes",
        "flag",
        default=False,
        help="Keep changes while Simplenote is out of reach, marked pending, and send them later.",
    ),
)


def check(settings: Settings) -> None:
    """Make sure that an account in the settings comes with what proves whose it is.

    Raises:
        ConfigInvalid: a name without password and token, or one of these without a name.

    """
    has_name = bool(settings["notes.simplenote.username"])
    has_proof = bool(settings["notes.simplenote.password"] or settings["notes.simplenote.token"])
    if has_name and not has_proof:
        raise ConfigInvalid(
            "SIMPLENOTE_USERNAME is set without SIMPLENOTE_PASSWORD or SIMPLENOTE_TOKEN",
            hint="Set one of them, or neither and use `rolltop notes login`.",
        )
    if has_proof and not has_name:
        raise ConfigInvalid(
            "SIMPLENOTE_PASSWORD or SIMPLENOTE_TOKEN is set without SIMPLENOTE_USERNAME",
            hint="Set it to the e-mail of the Simplenote account.",
        )
