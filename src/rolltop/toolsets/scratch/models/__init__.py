"""Limits, literal types and small conversions that all of scratch uses."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final, Literal
from urllib.parse import quote

JsonObject = dict[str, Any]
PadOrder = Literal["recent", "created", "title"]
SearchMode = Literal["hybrid", "words", "meaning"]
EvictionPolicy = Literal["discard", "fail", "preempt"]

SERVICE: Final = "rolltop.toolsets.scratch.service.scratch_service:ScratchService"
STRUCTURED_LANGUAGES: Final = frozenset({"json", "yaml", "yml"})
"""The languages whose cells may have a JSON Schema."""
SCHEMA_URI: Final = "scratchpad://schemas/"
"""`scratchpad://schemas/<name or id>` refers to a schema of the cell's pad."""
LABEL_KEYS: Final = ("title", "description", "summary")
"""The texts among a pad's metadata that its own fields show."""
MINIMAL_PAD_FIELDS: Final = ("scratch_id", "cell_count", "version")
"""The fields of a pad in even the smallest answer."""
MAX_NAME_LENGTH: Final = 200
"""Characters of a tag, a namespace or a schema's name."""
MAX_LANGUAGE_LENGTH: Final = 64
MAX_FIRST_LINE_LENGTH: Final = 80
MAX_SNIPPET_LENGTH: Final = 240
MAX_TAGS: Final = 100
"""Tags of one pad or one cell."""
MAX_PAD_METADATA_BYTES: Final = 64 << 10
MAX_CELL_METADATA_BYTES: Final = 16 << 10
"""As JSON, in UTF-8; a pad's schemas do not count."""
MAX_PAGE_SIZE: Final = 200
MAX_HITS: Final = 50
TRASH_RETENTION: Final = timedelta(days=30)


def schema_uri(label: str) -> str:
    """Build the URI of the pad's schema with this name or id; names may hold any character."""
    return SCHEMA_URI + quote(label, safe="")
