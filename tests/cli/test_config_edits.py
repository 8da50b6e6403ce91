"""Configuration files as people and programs write them: what is put in can be taken out again."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolltop.cli import jsonc, toml_tables

TABLE, KEY = "mcpServers", "rolltop"
ENTRY: dict[str, Any] = {
    "command": 'C:\\desk "1"/rolltop',
    "args": ["serve"],
    "env": {"CODE_ROOT": "/é"},
}

_blank = st.sampled_from(
    ["", "", " ", "\n", "\n  ", "\r\n\t", " // c, {\n", "/* } , */", "\n// x\n  "]
)
_keys = st.sampled_from(["a", "b", "mcpServer", "servers", 'q"', "é"])


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    """Draw an object with comments, trailing commas and odd white space."""
    names = draw(st.lists(_keys, max_size=3, unique=True))
    if depth == 0 and draw(st.booleans()):
        names.insert(draw(st.integers(0, len(names))), TABLE)
    parts: list[str] = []
    for name in names:
        leaf = st.sampled_from(["1", "null", '"// no"', "[1, 2,]", "{}", '{"x": {}}', "-1.5e3"])
        objects = documents(depth + 1)
        value = draw(objects if depth < 2 and (name == TABLE or draw(st.booleans())) else leaf)
        blanks = [draw(_blank) for _ in range(4)]
        parts.append(f"{blanks[0]}{json.dumps(name)}{blanks[1]}:{blanks[2]}{value}{blanks[3]}")
    comma = "," if parts and draw(st.booleans()) else ""
    return "{" + ",".join(parts) + comma + draw(_blank) + "}"


@given(document=documents(), end=st.sampled_from(["", "\n", "\r\n", "\n// end\n", "\n\n"]))
def test_what_is_set_is_there_and_removing_it_gives_the_text_back(document: str, end: str) -> None:
    text = document + end
    before = jsonc.parse(text)
    changed = jsonc.set_member(text, TABLE, KEY, ENTRY)
    after = jsonc.parse(changed)
    assert after == {**before, TABLE: {**before.get(TABLE, {}), KEY: ENTRY}}
    assert jsonc.set_member(changed, TABLE, KEY, ENTRY) == changed
    assert jsonc.remove_member(changed, TABLE, KEY) == text


@given(
    value=st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ),
    indent=st.sampled_from([None, 0, 2, "\t"]),
)
def test_plain_json_means_what_it_means_to_others(value: object, indent: Any) -> None:
    assert jsonc.parse(json.dumps(value, indent=indent)) == value


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1"),
        ('{"a": 1\n"b": 2}', "line 2"),
        ("{'a': 1}", "line 1"),
        ('{"a": 1} x', "line 1"),
        ("{,}", "line 1"),
        ('{"a": /* 1}', "line 1"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": "' + 'say \\"so\\" ' * 100_000, "line 1"),
        ('{"a": ' + "/* " * 100_000, "line 1"),
        ('{"a": 1 /*/}', "line 1"),
        ('{"mcpServers": []}', "no object"),
        ('{"mcpServers": {}, "mcpServers": {}}', "twice"),
        ("[]", "no object"),
    ],
)
def test_what_cannot_be_edited_says_why(text: str, why: str) -> None:
    with pytest.raises(jsonc.JsoncError, match=why):
        jsonc.set_member(text, TABLE, KEY, ENTRY)


def test_the_look_of_a_file_is_kept() -> None:
    text = '{\n\t"servers": {\n\t\t// mine\n\t\t"a": {"command": "x"} // a\n\t}, // all\n}\n'
    assert jsonc.set_member(text, "servers", KEY, {"command": "y", "args": ["serve"]}) == (
        '{\n\t"servers": {\n\t\t// mine\n\t\t"a": {"command": "x"}, // a\n'
        '\t\t"rolltop": {\n\t\t\t"command": "y",\n\t\t\t"args": ["serve"]\n\t\t}\n\t}, // all\n}\n'
    )


_toml_lines = st.sampled_from(
    [
        "a = 1",
        "# c [d]",
        "",
        "[x]",
        " [ x.y ] # [z]",
        "k = [\n 1,\n]",
        'l = [\n [1],\n ["]"],\n {a = [2]},\n]',
        "[\"q]\".'[']",
        "[[r]]",
    ]
)


@given(
    lines=st.lists(_toml_lines, max_size=6),
    other=st.booleans(),
    newline=st.sampled_from(["\n", "\r\n"]),
    end=st.booleans(),
)
def test_a_table_is_appended_and_removing_it_gives_the_text_back(
    lines: list[str], newline: str, *, other: bool, end: bool
) -> None:
    own = ["[mcp_servers.other]", 'command = "x"'] if other else []
    text = newline.join([*lines, *own, *[""] * end]).replace("\r\n", "\n").replace("\n", newline)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    changed = toml_tables.set_member(text, "mcp_servers", KEY, ENTRY)
    servers = before.get("mcp_servers", {})
    assert tomllib.loads(changed) == {**before, "mcp_servers": {**servers, KEY: ENTRY}}
    assert toml_tables.remove_member(changed, "mcp_servers", KEY) == text
    less = toml_tables.set_member(changed, "mcp_servers", KEY, {"command": "y"})
    assert tomllib.loads(less)["mcp_servers"][KEY] == {"command": "y"}


def test_large_configurations_are_parsed_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[int] = []
    loads = tomllib.loads

    def counted(text: str) -> dict[str, Any]:
        parsed.append(len(text))
        return loads(text)

    monkeypatch.setattr(tomllib, "loads", counted)
    for unit in (
        '[projects."/home/ann/{}"]\ntrust_level = "trusted"\n',
        "k{} = [\n[1],\n[2],\n]\n",
    ):
        text = "".join(unit.format(at) for at in range(300))
        changed = toml_tables.set_member(text, "mcp_servers", KEY, ENTRY)
        parsed.clear()
        assert toml_tables.remove_member(changed, "mcp_servers", KEY) == text
        assert sum(parsed) < 3 * len(changed)


def test_values_of_every_kind_are_kept_when_a_table_is_set() -> None:
    text = (
        '[mcp_servers.rolltop]\ncommand = "x"\nenv = {}\nstartup_timeout_sec = 20\n'
        'env_vars = [{name = "A b", source = "local"}, {}]\n\n'
        '[mcp_servers.rolltop.tools.search]\n"approval mode" = "auto"\n'
    )
    entry = tomllib.loads(text)["mcp_servers"][KEY] | {"command": "y"}
    changed = toml_tables.set_member(text, "mcp_servers", KEY, entry)
    assert tomllib.loads(changed)["mcp_servers"][KEY] == entry


def test_what_follows_a_table_stays_with_its_comments() -> None:
    text = (
        '[mcp_servers.rolltop]\ncommand = "x"\n\n[mcp_servers.rolltop.env]\nA = "1"\n\n# b\n[b]\n'
    )
    assert toml_tables.remove_member(text, "mcp_servers", KEY) == "\n# b\n[b]\n"
    changed = toml_tables.set_member(text, "mcp_servers", KEY, {"command": "y"})
    assert changed == '[mcp_servers.rolltop]\ncommand = "y"\n\n# b\n[b]\n'


@pytest.mark.parametrize(
    "text",
    [
        "a = ",
        'mcp_servers = {rolltop = {command = "x"}}',
        'mcp_servers.rolltop.command = "x"',
        '[mcp_servers]\nrolltop = {command = "x"}',
        "[mcp_servers.rolltop]\n[b]\n[mcp_servers.rolltop.env]\n",
        "[mcp_servers.rolltop]\n[b]\ns = '''\n[mcp_servers.rolltop]\n'''",
    ],
)
def test_toml_that_cannot_be_edited_is_refused(text: str) -> None:
    with pytest.raises(toml_tables.TomlError):
        toml_tables.set_member(text, "mcp_servers", KEY, ENTRY)


@pytest.mark.parametrize(
    "header",
    ['[projects."/home/a[1]"]', "[projects.'b]']", '[[a . "b"]]  # c', '[projects."a\\"b"]'],
)
def test_toml_that_follows_under_any_name_stays(header: str) -> None:
    rest = f"{header}\ntrust = true\n"
    text = toml_tables.set_member("", "mcp_servers", KEY, ENTRY) + "\n" + rest
    assert tomllib.loads(toml_tables.remove_member(text, "mcp_servers", KEY)) == tomllib.loads(rest)


def test_a_byte_order_mark_before_our_own_table_stays() -> None:
    text = "\ufeff" + toml_tables.set_member("", "mcp_servers", KEY, ENTRY)
    changed = toml_tables.set_member(text, "mcp_servers", KEY, {"command": "y"})
    assert changed.startswith("\ufeff[mcp_servers.rolltop]")
    assert toml_tables.parse(changed)["mcp_servers"][KEY] == {"command": "y"}
    assert toml_tables.remove_member(text, "mcp_servers", KEY) == "\ufeff"
