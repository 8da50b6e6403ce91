"""The demo's notes: one note that two agents change, and nothing either wrote is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TEXT: Final = (
    "Deploy checklist\n- [ ] back up the store\n- [ ] rehearse on staging\n- [ ] deploy\n"
)


class Story(Protocol):
    """Tells one call after another."""

    async def call(
        self,
        about: str,
        tool: str,
        *,
        fails: bool = False,
        draft: str = "",
        shown: Callable[[Mapping[str, Any]], Sequence[str]] | None = None,
        **arguments: Any,  # noqa: ANN401  # a tool's own
    ) -> dict[str, Any]:
        """Return the structured answer of one call, after printing it."""
        ...


async def keep_notes(story: Story) -> None:
    """Save a note, change it from two sides, find it, and look back."""
    note_id = await _change_from_two_sides(story)
    await story.call("Found by its words.", "note_list", q="rehearse tag:deploy", preview_lines=2)
    await story.call(
        "Every version is kept …", "note_manage", action="history", id=note_id, shown=_history
    )
    await story.call(
        "… and any comes back, as a new one.",
        "note_manage",
        shown=_note,
        action="restore",
        id=note_id,
        version=1,
        local_version=3,
    )


async def _change_from_two_sides(story: Story) -> str:
    """Return the id of a note that is at version 3 then."""
    made = await story.call(
        "A note; it is on disk before it is answered.",
        "note_save",
        shown=_note,
        text=_TEXT,
        tags=["deploy"],
    )
    seen = {"id": made["id"], "local_version": made["local_version"]}
    await story.call(
        "One agent ticks a line off, by its number.",
        "note_save",
        shown=_note,
        **seen,
        text_patch=[{"op": "mod", "ln": 2, "val": "- [x] back up the store"}],
    )
    await story.call(
        "Another read the note before that: its patch of another line is moved, not refused.",
        "note_save",
        shown=_note,
        **seen,
        text_patch=[{"op": "add", "ln": 4, "val": "- [ ] tell the others"}],
    )
    await story.call(
        "A whole text from that first reading would undo both, so it is refused.",
        "note_save",
        fails=True,
        shown=_refusal,
        **seen,
        text="Deploy checklist\n- [x] deploy\n",
    )
    return str(made["id"])


def _note(answer: Mapping[str, Any]) -> list[str]:
    """Return version and text of a note, and whether a patch was moved."""
    rebased = ", rebased" if answer.get("rebased") else ""
    lines = answer["text"].splitlines()
    return [f"local_version: {answer['local_version']}{rebased}", *(f"  {line}" for line in lines)]


def _refusal(answer: Mapping[str, Any]) -> list[str]:
    """Return what a refused save is told."""
    error = answer["error"]
    return [f"{error['code']}: {error['message']}", error["resolution_hint"]]


def _history(answer: Mapping[str, Any]) -> list[str]:
    """Return one line for each version."""
    return [
        f"version {one['local_version']}: {one['bytes']} bytes, {one['source']}"
        for one in answer["versions"]
    ]
