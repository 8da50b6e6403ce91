"""What every part of scratch knows: limits, kinds, how moments are written."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from rolltop.core.budget import Continuation

JsonObject = dict[str, Any]
Order = Literal["recent", "created", "title"]
Mode = Literal["hybrid", "words", "meaning"]
Policy = Literal["discard", "fail", "preempt"]

LANGUAGES: Final = (
    *("py", "js", "ts", "tsx", "jsx", "rs", "c", "h", "cpp", "hpp", "sh", "css", "html", "htm"),
    *("java", "go", "rb", "toml", "php", "cs", "json", "yaml", "yml", "md", "txt"),
)
STRUCTURED: Final = frozenset({"json", "yaml", "yml"})
"""The languages whose cells may have a JSON Schema."""
SCHEMA_URI: Final = "scratchpad://schemas/"
"""`scratchpad://schemas/<name or id>` refers to a schema of the cell's pad."""
LABELS: Final = ("title", "description", "summary")
"""The texts among a pad's metadata that its own fields show."""
LEAST_OF_PAD: Final = ("scratch_id", "cell_count", "version")
"""What even the smallest answer says of a pad."""
NAME_LENGTH: Final = 200
"""Characters of a tag, a namespace or a schema's name."""
FIRST_LINE_LENGTH: Final = 80
SNIPPET_LENGTH: Final = 240
MOST_TAGS: Final = 100
"""Tags of one pad or one cell."""
OTHER_CELLS: Final = 20
"""How many cells besides those written a write's answer lists."""
LONGEST_PAGE: Final = 200
MOST_HITS: Final = 50
TRASH_KEEPS: Final = timedelta(days=30)


def continued(result: JsonObject, continuation: Continuation) -> JsonObject:
    """Return a cut answer with what it says about that: the call that goes on."""
    cursor = {"next_cursor": continuation.cursor} if continuation.cursor else {}
    return {**result, "truncated": True, **cursor, "next": continuation.next}


def moment(value: datetime) -> str:
    """Return an aware UTC datetime in ISO 8601 with microseconds and `Z`."""
    return value.isoformat(timespec="microseconds").replace("+00:00", "Z")
