"""What the reader answers and keeps: shapes and literals."""

from __future__ import annotations

from typing import Any, Final, Literal, NotRequired

from typing_extensions import TypedDict

from rolltop.core.pagination import NextCall

ReadMode = Literal["auto", "summary", "full"]
SummaryStyle = Literal["structured", "extractive", "abstract"]
TokenEncoding = Literal["cl100k_base", "o200k_base"]
JsonObject = dict[str, Any]

DEFAULT_SUMMARY_TOKENS: Final = 800
MIN_SUMMARY: Final = 100
MAX_SUMMARY: Final = 5000
MAX_FILES: Final = 20
MAX_HEADING_LENGTH: Final = 200
"""Characters of a heading that an answer repeats, the mark of a cut counted."""


class SectionHeaders(TypedDict):
    """How many sections a document has, and the first of them."""

    count: int
    headers: NotRequired[list[str]]
    note: str


class IncludedParts(TypedDict):
    """Which parts a summary holds."""

    abstract: bool
    keywords: bool
    section_headers: bool
    key_findings: bool


class ExcludedParts(TypedDict):
    """What the document holds and its summary does not hold in full."""

    detailed_methods: bool
    complete_citations: bool
    code_examples: bool
    tables_and_figures: bool


class Coverage(TypedDict):
    """What a summary covers; the score is its tokens by the document's, 0 to 1."""

    included: IncludedParts
    excluded: ExcludedParts
    completeness_score: float


class OriginalDocument(TypedDict):
    """The document that was summarised."""

    path: str
    filename: str
    size_bytes: int
    size_tokens: int


class SummaryConfidence(TypedDict):
    """What a summary may be used for."""

    completeness: float
    recommended_for: NotRequired[list[str]]
    not_recommended_for: NotRequired[list[str]]


class ReadAnswer(TypedDict):
    """A document in full (`tokens`, `path`) or its summary (the fields after them)."""

    content: str
    type: Literal["full", "summary"]
    uri: NotRequired[str]
    tokens: NotRequired[int]
    path: NotRequired[str]
    note: NotRequired[str]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]
    _preamble: NotRequired[str]
    style: NotRequired[SummaryStyle]
    original_tokens: NotRequired[int]
    summary_tokens: NotRequired[int]
    reduction_factor: NotRequired[float]
    sections: NotRequired[SectionHeaders]
    coverage: NotRequired[Coverage]
    original: NotRequired[OriginalDocument]
    confidence: NotRequired[SummaryConfidence]


class SectionRef(TypedDict):
    """A section by its id."""

    id: str
    title: str
    start_line: int


class AlternativeSection(SectionRef):
    """A section that answers to a heading as well, with the titles around it and its own."""

    path_titles: NotRequired[list[str]]


class SectionAnswer(TypedDict):
    """A section's lines; `tokens` and the lines are those of the whole section."""

    content: str
    type: Literal["section"]
    uri: NotRequired[str]
    section: str
    heading_level: int
    tokens: int
    start_line: int
    end_line: int
    id: str
    path_titles: NotRequired[list[str]]
    also: NotRequired[list[AlternativeSection]]
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

    sections: NotRequired[list[str]]
    count: int
    type: Literal["toc"]
    uri: NotRequired[str]
    path: str
    note: str
    outline: list[OutlineEntry]
    truncated: NotRequired[bool]
    next: NotRequired[NextCall]


class TokenCount(TypedDict):
    """The tokens of a text."""

    tokens: int
    encoding: TokenEncoding


class PlannedSection(TypedDict):
    """A section a plan reads; `whole` is false for one that was cut to fit."""

    path: str
    uri: NotRequired[str]
    id: str
    title: str
    heading_path: NotRequired[str]
    start_line: int
    end_line: int
    tokens: int
    whole: bool
    content: str
    next: NotRequired[NextCall]


class OmittedSection(TypedDict):
    """A section a plan left out, and what it would cost.

    `heading_path` has the titles above it and its own: `Version 1.39.0 > Language`.
    """

    path: str
    id: str
    title: str
    heading_path: NotRequired[str]
    tokens: int


class ReadPlan(TypedDict):
    """The sections that answer a query, and the best of those left out with their prices.

    `unread_files` of folders and globs were not read: others are likelier, or are documents.
    """

    type: Literal["plan"]
    sections: list[PlannedSection]
    tokens: int
    left_out: list[OmittedSection]
    left_out_count: int
    left_out_tokens: int
    unread_files: NotRequired[int]
    note: NotRequired[str]
    truncated: NotRequired[Literal[True]]
    next: NotRequired[JsonObject]


class ReaderErrorAnswer(TypedDict):
    """What failed, and the call that repairs it."""

    type: Literal["error"]
    error: str
    code: str
    hint: str
    content: NotRequired[str]
    section: NotRequired[str]
    suggestions: NotRequired[list[SectionRef]]
    candidates: NotRequired[list[str]]
    reference: NotRequired[str]
