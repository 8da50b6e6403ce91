"""Settings under any input: a value or one clear line, never anything else."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from rolltop.core.errors import InvalidConfig
from rolltop.core.settings import CORE_SETTINGS, load
from tests.campaign import examples

KEYS = [setting.key for setting in CORE_SETTINGS]
TEXTS = st.text(max_size=20) | st.from_regex(r"-?[0-9]{0,20}[a-zA-Z.,=/~ ]{0,4}", fullmatch=True)
NOWHERE = Path("/nowhere")


@settings(max_examples=examples(300))
@given(key=st.sampled_from(KEYS), text=TEXTS)
def test_any_text_is_a_value_or_one_clear_line(key: str, text: str) -> None:
    refusal = ""
    try:
        read = load(
            CORE_SETTINGS,
            environment={},
            command_line={key: text},
            working_directory=NOWHERE,
            user_directory=NOWHERE,
        )
    except InvalidConfig as refused:
        refusal = refused.message
    else:
        assert read.source(key) == "command line"
    assert refusal.splitlines() == ([refusal] if refusal else [])
    assert refusal.startswith(f"{key} (command line) cannot be ") or not refusal


@settings(max_examples=examples(150))
@given(seconds=st.integers(min_value=1, max_value=3650 * 86400), size=st.integers(1024, 10**12))
def test_what_is_shown_reads_back_as_the_same(seconds: int, size: int) -> None:
    given_values = {"call_timeout": f"{seconds}s", "http.max_body": str(size)}
    read = load(
        CORE_SETTINGS,
        environment={},
        command_line=given_values,
        working_directory=NOWHERE,
        user_directory=NOWHERE,
    )
    again = load(
        CORE_SETTINGS,
        environment={},
        command_line={key: read.masked_text(key) for key in given_values},
        working_directory=NOWHERE,
        user_directory=NOWHERE,
    )
    assert (again["call_timeout"], again["http.max_body"]) == (seconds, size)


FRAGMENTS = st.sampled_from(
    [
        "max_result_tokens = 100000",
        "max_result_tokens = 300",
        "threads = 400",
        'http.host = "0.0.0.0"',
        "[retrieval.roots]",
        'docs = ".."',
        'docs = "inside"',
        'docs = "/etc"',
        "DOCS_ROOT=../..",
        "DOCS_ROOT=inside/../inside",
        "DATABASE_URL=sqlite:////tmp/evil.db",
        "LOG_FILE_PATH=/tmp/evil.log",
        "ROLLTOP_READ_ONLY=off",
    ]
)


@settings(max_examples=examples(150), deadline=None)
@given(
    toml=st.lists(FRAGMENTS | st.text(max_size=12), max_size=6),
    dotenv=st.lists(FRAGMENTS | st.text(max_size=12), max_size=6),
    raw=st.binary(max_size=8),
)
def test_no_project_file_raises_a_limit_or_leaves_its_directory(
    toml: list[str], dotenv: list[str], raw: bytes
) -> None:
    with TemporaryDirectory() as folder:
        project = Path(folder).resolve()
        (project / "inside").mkdir()
        for name, written in (("rolltop.toml", toml), (".env", dotenv)):
            content = "\n".join(written).encode("utf-8", "surrogatepass") + raw
            (project / name).write_bytes(content)
        read = load(
            CORE_SETTINGS, environment={}, working_directory=project, user_directory=NOWHERE
        )
    for setting in CORE_SETTINGS:
        if read.source(setting.key) != "default":
            assert setting.untrusted != "no"
        if setting.untrusted == "down":
            assert read[setting.key] <= setting.default
    for path in read["retrieval.roots"].values():
        assert os.path.commonpath([path, project]) == str(project)
