"""Durable scratch notebooks of typed, validated cells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rolltop.core.embedding import DEFAULT_MODEL
from rolltop.core.errors import RolltopError
from rolltop.core.settings import Setting
from rolltop.core.tools import Prompt, PromptArgument, Toolset
from rolltop.toolsets.scratch.jobs import JOBS, close
from rolltop.toolsets.scratch.models import SERVICE
from rolltop.toolsets.scratch.tools import RESOURCE_TEMPLATES, TOOLS

_SETTING_PREFIX: Final = "SCRATCH_NOTEBOOK_"
_SENSITIVE_WORDS: Final = (
    *("AUTH", "TOKEN", "SECRET", "KEY", "PASSWORD", "TENANT", "ALLOW", "ALLOWED", "CREDENTIAL"),
    *("TLS", "SSL", "CERT", "ENCRYPTION", "ENCRYPT", "READ", "HOST", "PORT", "BIND"),
    *("STORAGE", "DIR", "DIRECTORY", "DIRECTORIES", "PATH", "DATABASE", "DB", "URL", "DATA"),
)
"""Words of variables that bear on security or on where data goes, in the singular or plural."""
_SAME_MODEL: Final = (
    *("all-minilm-l6-v2", "sentence-transformers/all-minilm-l6-v2", "xenova/all-minilm-l6-v2"),
    *("onnx-community/all-minilm-l6-v2", "qdrant/all-minilm-l6-v2-onnx"),
)
"""Names of the built-in model's family."""
_MAX_SECONDS: Final = 3650 * 86400
"""Ten years, which clocks and timers of every kind can count."""


def _shape_error(error: RolltopError) -> dict[str, Any]:
    failure: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "error": error.message,
        "hint": error.hint,
    }
    details = {**error.data.get("details", {})}
    details |= {name: value for name, value in error.data.items() if name != "details"}
    if details:
        failure["details"] = details
    return {"ok": False, "error": failure}


def _draft_in_cells(arguments: Mapping[str, str]) -> str:
    return (
        f"Work this out in a scratchpad: {arguments['goal']}\n\n"
        "1. scratch_search for it, to continue with an existing pad; otherwise "
        "scratch_create one with a title and a description.\n"
        "2. Put each draft, table or piece of code into a cell of its own, by "
        "scratch_append_cell with its language and validate true. For data, store a JSON Schema "
        "by scratch_schema and name it in json_schema.\n"
        "3. Read the diagnostics with their lines and fix the cell by scratch_edit_cell until "
        "it is valid.\n"
        "4. Say which pad and cells hold the outcome; do not repeat their content."
    )


TOOLSET: Final = Toolset(
    name="scratch",
    summary="Durable scratch notebooks of checked cells.",
    guidance=(
        "Keep drafts, data and results in cells as you work (scratch_append_cell checks them).",
        "Before working something out, scratch_search finds what was worked out before.",
    ),
    tools=TOOLS,
    earlier="rolltop.toolsets.scratch.service.earlier:read_earlier",
    undo="rolltop.toolsets.scratch.service.undo:take_back",
    undo_guard="rolltop.toolsets.scratch.service.undo:guard",
    journal_kinds=("pad", "cell", "namespace"),
    evidence={"cell": "rolltop.toolsets.scratch.service.evidence:resolve_cell"},
    gauges="rolltop.toolsets.scratch.store.pad_rows:count_pads_and_cells",
    error_codes={
        "NOT_FOUND": "The pad, cell, schema or namespace does not exist, or is another user's.",
        "INVALID_ID": "An id is not a UUID, or is taken.",
        "INVALID_INDEX": "The pad has no cell at that index.",
        "CAPACITY_LIMIT_REACHED": "A limit on pads, cells or a cell's size; nothing changed.",
        "VALIDATION_ERROR": "An argument is wrong; the message says which and what is allowed.",
        "VALIDATION_TIMEOUT": "Validation passed scratch.validation_timeout.",
        "CONFIG_ERROR": "It needs a setting or an optional part of the installation.",
        "CONFLICT": "The version given is not the current one, or a schema's name is taken.",
        "UNAUTHORIZED": "The pad is outside the given namespaces.",
        "TIMEOUT": "The call passed call_timeout.",
        "UNAVAILABLE": "The store is out of reach or too slow, or the server is stopping.",
        "INTERNAL_ERROR": "A fault of the server; the reference finds it in the log.",
    },
    shape_error=_shape_error,
    error_fields=("ok", "error"),
    service=SERVICE,
    settings=(
        Setting(
            "scratch.max_scratchpads",
            "integer",
            1024,
            "Maximum number of scratchpads of a user.",
            minimum=1,
            unlimited=0,
            environment=(f"{_SETTING_PREFIX}MAX_SCRATCHPADS",),
            family=_SETTING_PREFIX,
            sensitive=_SENSITIVE_WORDS,
            untrusted="down",
        ),
        Setting(
            "scratch.max_cells_per_pad",
            "integer",
            1024,
            "Maximum number of cells of a scratchpad.",
            minimum=1,
            unlimited=0,
            environment=(f"{_SETTING_PREFIX}MAX_CELLS_PER_PAD",),
            untrusted="down",
        ),
        Setting(
            "scratch.max_cell_bytes",
            "size",
            5 << 20,
            "Maximum size of a cell's content, in UTF-8.",
            minimum=1,
            unlimited=0,
            environment=(f"{_SETTING_PREFIX}MAX_CELL_BYTES",),
            untrusted="down",
        ),
        Setting(
            "scratch.eviction_policy",
            "text",
            "discard",
            "What happens at max_scratchpads: the least recent pad goes to the trash (discard), "
            "creation is refused (fail), or idle pads also go before (preempt). Where a project's "
            "file sets max_scratchpads, creation is refused.",
            choices=("discard", "fail", "preempt"),
            environment=(f"{_SETTING_PREFIX}EVICTION_POLICY",),
        ),
        Setting(
            "scratch.preempt_age",
            "duration",
            24 * 3600,
            "How long a pad is idle before preempt evicts it; hours without a unit.",
            minimum=1,
            maximum=_MAX_SECONDS,
            unit="h",
            environment=(f"{_SETTING_PREFIX}PREEMPT_AGE",),
        ),
        Setting(
            "scratch.preempt_interval",
            "duration",
            600,
            "How often preempt looks for idle pads; minutes without a unit.",
            minimum=1,
            maximum=_MAX_SECONDS,
            unit="m",
            environment=(f"{_SETTING_PREFIX}PREEMPT_INTERVAL",),
        ),
        Setting(
            "scratch.default_namespace",
            "text",
            "default",
            "The namespace of pads that name none.",
            environment=(f"{_SETTING_PREFIX}DEFAULT_NAMESPACE",),
        ),
        Setting(
            "scratch.write_answers",
            "text",
            "lean",
            "Whether a write answers what it wrote (lean) or also all of the pad's fields (full).",
            choices=("lean", "full"),
        ),
        Setting(
            "scratch.validation_timeout",
            "duration",
            10,
            "How long the validation of one call may take.",
            minimum=1,
            maximum=_MAX_SECONDS,
            environment=(f"{_SETTING_PREFIX}VALIDATION_TIMEOUT",),
            untrusted="down",
        ),
        Setting(
            "scratch.semantic_search",
            "flag",
            default=True,
            help="Search by meaning as well, if the extra for it is installed.",
            environment=(
                f"{_SETTING_PREFIX}SEMANTIC_SEARCH",
                f"{_SETTING_PREFIX}ENABLE_SEMANTIC_SEARCH",
            ),
        ),
        Setting(
            "scratch.embedding_model",
            "text",
            DEFAULT_MODEL,
            "The model for search by meaning; the extra `semantic` brings it.",
            choices=(DEFAULT_MODEL,),
            synonyms=tuple((name, DEFAULT_MODEL) for name in _SAME_MODEL),
            environment=(f"{_SETTING_PREFIX}EMBEDDING_MODEL",),
        ),
    ),
    jobs=JOBS,
    close=close,
    resource_templates=RESOURCE_TEMPLATES,
    prompts=(
        Prompt(
            "draft_in_cells",
            "Draft in checked cells",
            "Work something out in a scratchpad whose cells are validated.",
            (PromptArgument("goal", "What to work out.", required=True),),
            _draft_in_cells,
        ),
    ),
    argument_code="VALIDATION_ERROR",
    text_code="VALIDATION_ERROR",
)
