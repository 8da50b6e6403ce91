"""What the reader answers and keeps: shapes and literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

Mode = Literal["auto", "summary", "full"]
Style = Literal["structured", "extractive", "abstract"]
Encoding = Literal["cl100k_base", "o200k_base"]
JsonObject = dict[str, Any]

DEFAULT_SUMMARY: Final = 800
LEAST_SUMMARY: Final = 100
MOST_SUMMARY: Final = 5000
MOST_FILES: Final = 20
LONGEST_SHOWN: Final = 200
"""Characters of a heading that an answer repeats, the mark of a cut counted."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells one state of a file from another without reading it."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class KeptOutline:
    """An outline as the store keeps it: by a hash of the file's name and bytes, as JSON text."""

    content: str
    outline: str


class NextCall(TypedDict):
    """A call that is ready to send."""

    tool: str
    arguments: dict[str, Any]


class Headers(TypedDict):
    """How many sections a document has, and the first of them."""

    count: int
    headers: list[str]
    note: str


class Included(TypedDict):
    """Which parts a summary holds."""

    abstract: bool
    keywords: bool
    section_headers: bool
    key_findings: bool


class Excluded(TypedDict):
    """What the document holds and its summary does not hold in full."""

    detailed_methods: bool
    complete_citations: bool
    code_examples: bool
    tables_and_figures: bool


class Coverage(TypedDict):
    """What a summary covers; the score is its tokens by the document's, 0 to 1."""

    included: Included
    excluded: Excluded
    completeness_score: float


class Original(TypedDict):
    """The document that was summarised."""

    path: str
    filename: str
    size_bytes: int
    size_tokens: int


class Confidence(TypedDict):
    """What a summary may be used for."""

    completeness: float
    recommended_for: list[str]
    not_recommended_for: list[str]


class Reading(TypedDict):
    """A document in full (`tokens`, `path`) or its summary (the fields after them)."""

    content: str
    type: Literal["full", "summary"]
    tokens: NotRequired[int]
    path: NotRequired[str]
    note: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]
    _preamble: NotRequired[str]
    style: NotRequired[Style]
    original_tokens: NotRequired[int]
    summary_tokens: NotRequired[int]
    reduction_factor: NotRequired[float]
    sections: NotRequired[Headers]
    coverage: NotRequired[Coverage]
    original: NotRequired[Original]
    confidence: NotRequired[Confidence]


class Named(TypedDict):
    """A section by its id."""

    id: str
    title: str
    start_line: int


class Alternative(Named):
    """A section that answers to a heading as well, with the titles around it and its own."""

    path_titles: list[str]


class SectionAnswer(TypedDict):
    """A section's lines; `tokens` and the lines are those of the whole section."""

    content: str
    type: Literal["section"]
    section: str
    heading_level: int
    tokens: int
    start_line: int
    end_line: int
    id: str
    path_titles: list[str]
    also: NotRequired[list[Alternative]]
    also_count: NotRequired[int]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class OutlineEntry(TypedDict):
    """A section of an outline; its lines and tokens include its children."""

    id: str
    title: str
    level: int
    start_line: int
    end_line: int
    tokens: int


class OutlineAnswer(TypedDict):
    """A document's sections in order."""

    sections: list[str]
    count: int
    type: Literal["toc"]
    path: str
    note: str
    outline: list[OutlineEntry]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class TokenCount(TypedDict):
    """The tokens of a text."""

    tokens: int
    encoding: Encoding


class Chosen(TypedDict):
    """A section a plan reads; `whole` is false for one that was cut to fit."""

    path: str
    id: str
    title: str
    start_line: int
    end_line: int
    tokens: int
    whole: bool
    content: str
    next: NotRequired[NextCall]


class Priced(TypedDict):
    """A section a plan left out, and what it would cost."""

    path: str
    id: str
    title: str
    tokens: int


class Plan(TypedDict):
    """The sections that answer a query, and the best of those left out with their prices."""

    type: Literal["plan"]
    sections: list[Chosen]
    tokens: int
    left_out: list[Priced]
    left_out_count: int
    left_out_tokens: int
    note: NotRequired[str]
    truncated: NotRequired[Literal[True]]
    next: NotRequired[JsonObject]


class ErrorAnswer(TypedDict):
    """What failed, and the call that repairs it."""

    type: Literal["error"]
    error: str
    code: str
    hint: str
    content: NotRequired[str]
    section: NotRequired[str]
    suggestions: NotRequired[list[Named]]
    candidates: NotRequired[list[str]]
    reference: NotRequired[str]
