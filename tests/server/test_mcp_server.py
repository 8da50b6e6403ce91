"""What a client of either era sees of tools, resources, prompts and failures."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from mcp import Client, MCPError
from mcp_types import Implementation, PromptReference, ResourceTemplateReference, TextContent

from rolltop.core import accounts, pagination, token_counter
from rolltop.core.db import SYSTEM
from rolltop.core.errors import InvalidConfig
from rolltop.toolsets import TOOLSETS
from tests import witnesses
from tests.server.apps import make_app
from tests.server.processes import LEGACY, MODERN, StdioServer, modern_meta

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp_types import CallToolResult

    from rolltop.server.app import ServerApp

ERAS = pytest.mark.parametrize("era", [LEGACY, MODERN])


def talk(
    app: ServerApp, era: str, conversation: Callable[[Client], Awaitable[Any]], name: str = "mcp"
) -> Any:
    """Return what a conversation of a client of that name with the application came to."""
    info = Implementation(name=name, version="1")

    async def meet() -> Any:
        mode: Any = "legacy" if era == LEGACY else MODERN
        async with Client(app.server, mode=mode, client_info=info) as client:
            # Raised inside, an error would come out wrapped in groups.
            [outcome] = await asyncio.gather(conversation(client), return_exceptions=True)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    try:
        return asyncio.run(meet())
    finally:
        app.context.database.close()


def text(result: CallToolResult) -> str:
    """Return the one text block of a result."""
    [block] = result.content
    assert isinstance(block, TextContent)
    return block.text


@ERAS
def test_every_tool_is_listed_with_title_hints_and_schemas(tmp_path: Path, era: str) -> None:
    listed = talk(make_app(tmp_path), era, lambda client: client.list_tools())
    for tool in listed.tools:
        assert tool.title
        assert 0 < len(tool.description) <= 1000
        assert tool.input_schema["type"] == "object"
        assert (tool.output_schema or {"type": "object"})["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        hints = tool.annotations.model_dump(exclude={"title"})
        assert set(hints.values()) <= {True, False}
        assert len(hints) == 4
    declared = [tool.name for toolset in TOOLSETS for tool in toolset.tools]
    assert [tool.name for tool in listed.tools][: len(declared)] == declared
    if era == MODERN:
        assert (listed.cache_scope, listed.ttl_ms > 0) == ("public", True)


def test_over_http_no_list_may_be_shared_between_tokens(tmp_path: Path) -> None:
    listed = talk(make_app(tmp_path, http=True), MODERN, lambda client: client.list_tools())
    assert listed.cache_scope == "private"


@ERAS
def test_each_answer_is_the_same_as_text_and_fits_its_published_schema(
    tmp_path: Path, era: str
) -> None:
    async def ask_all(client: Client) -> None:
        for tool in (await client.list_tools()).tools:
            if tool.name in {"wait_for_cancel", "stuck"}:
                continue
            for arguments in ({}, {"no_such_argument": 1}):
                answer = await client.call_tool(tool.name, arguments)
                assert answer.structured_content is not None
                assert json.loads(text(answer)) == answer.structured_content
                assert ": " not in text(answer).split('"')[2]
                witnesses.validate(answer.structured_content, tool.output_schema or {})
                assert answer.is_error or not arguments

    talk(make_app(tmp_path), era, ask_all)


@ERAS
def test_nulls_of_an_answer_reach_the_client(tmp_path: Path, era: str) -> None:
    seen = talk(make_app(tmp_path), era, lambda client: client.call_tool("who_am_i", {}))
    assert seen.structured_content["nothing"] is None
    assert seen.structured_content["rights"] == ["act_as", "read", "write"]
    assert seen.structured_content["actor"]


@ERAS
@pytest.mark.parametrize(
    ("name", "budget"),
    [
        ("codex-mcp-client", 2_400),
        ("Codex", 2_400),
        ("claude-code", 9_000),
        ("Claude Code", 9_000),
        ("claude-ai", 20_000),
        ("gemini-cli-mcp-client", 7_500),
        ("Visual Studio Code", 20_000),
        ("my-codex", 20_000),
        ("", 9_000),
    ],
)
def test_an_answer_is_no_larger_than_its_host_takes(
    tmp_path: Path, era: str, name: str, budget: int
) -> None:
    def ask(**settings: Any) -> int:
        app = make_app(tmp_path, **settings)
        seen = talk(app, era, lambda client: client.call_tool("who_am_i", {}), name)
        return seen.structured_content["budget"]

    assert ask() == budget
    assert ask(max_result_tokens=12_345) == 12_345
    assert ask(max_result_tokens=0) == 0


@ERAS
def test_a_host_gets_its_own_bound_for_resources_errors_and_what_a_call_asks_for(
    tmp_path: Path, era: str
) -> None:
    async def ask(client: Client) -> None:
        saved = await client.call_tool("note_save", {"text": "some words of a note\n" * 4000})
        for result in (
            saved,
            await client.call_tool("note_get", {"id": saved.structured_content["id"]}),
            await client.call_tool(
                "note_get", {"id": saved.structured_content["id"], "max_tokens": 9000}
            ),
            await client.call_tool("note_get", {"id": "n" * 100_000}),
        ):
            assert token_counter.count(text(result)) <= 2_400
        note: Any = await client.read_resource(f"rolltop://note/{saved.structured_content['id']}")
        assert token_counter.count(note.contents[0].text) <= 2_400

    talk(make_app(tmp_path), era, ask, "codex-mcp-client")


@ERAS
def test_a_connection_has_the_project_of_its_folder_or_of_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    folder = tmp_path / "kite"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def project(**changed: Any) -> str:
        app = make_app(tmp_path, **changed)
        seen = talk(app, era, lambda client: client.call_tool("who_am_i", {}))
        return seen.structured_content["project"]

    assert project() == "kite"
    assert project(http=True) == ""
    for http in (False, True):
        assert project(http=http, project=" swift ") == "swift"
        assert project(http=http, project="") == ""


@pytest.mark.parametrize("name", ["*", "two\nlines", "x" * 101])
def test_a_name_no_project_can_have_stops_the_start(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidConfig, match="project"):
        make_app(tmp_path, project=name)


@ERAS
def test_a_fault_of_ours_is_a_tool_result_with_a_reference_and_nothing_else(
    tmp_path: Path, era: str
) -> None:
    failed = talk(
        make_app(tmp_path), era, lambda client: client.call_tool("fail", {"how": "fault"})
    )
    assert failed.is_error
    assert failed.structured_content["code"] == "INTERNAL_ERROR"
    assert failed.structured_content["reference"]
    assert "swordfish" not in text(failed)


async def read_a_fault(client: Client) -> None:
    await client.read_resource("rolltop://thing/fault")


async def get_a_fault(client: Client) -> None:
    await client.get_prompt("explain", {"topic": "tides", "depth": ""})


async def complete_a_fault(client: Client) -> None:
    template = ResourceTemplateReference(uri="rolltop://thing/{name}")
    await client.complete(template, {"name": "name", "value": "fault"})


@ERAS
@pytest.mark.parametrize("ask", [read_a_fault, get_a_fault, complete_a_fault])
def test_a_fault_elsewhere_is_an_internal_error_with_a_reference_and_nothing_else(
    tmp_path: Path, era: str, ask: Callable[[Client], Awaitable[Any]]
) -> None:
    with pytest.raises(MCPError) as raised:
        talk(make_app(tmp_path), era, ask)
    assert raised.value.code == -32603
    assert raised.value.data["reference"] in raised.value.message
    assert "swordfish" not in str(raised.value.error)


@ERAS
def test_a_fault_while_finding_out_who_calls_is_a_tool_result_too(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app(tmp_path)

    async def broken(*_asked: object, **_how: object) -> None:
        raise RuntimeError("the password is swordfish")

    monkeypatch.setattr(app.user, "principal", broken)
    failed = talk(app, era, lambda client: client.call_tool("list_tasks", {}))
    assert failed.is_error
    assert failed.structured_content["code"] == "INTERNAL_ERROR"
    assert "swordfish" not in text(failed)


@ERAS
def test_a_store_out_of_reach_is_said_in_the_toolsets_own_shape(tmp_path: Path, era: str) -> None:
    app = make_app(tmp_path)
    app.context.database.close()
    failed = talk(app, era, lambda client: client.call_tool("list_tasks", {}))
    assert failed.is_error
    assert failed.structured_content["success"] is False
    assert failed.structured_content["code"] == "UNAVAILABLE"


@ERAS
@pytest.mark.parametrize("email", ["", "ada@example.org"])
@pytest.mark.parametrize("trusted", [0.0, 3600.0], ids=["asked for anew", "gone since"])
def test_who_lost_their_user_are_told_whether_to_call_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str, email: str, trusted: float
) -> None:
    monkeypatch.setattr("rolltop.server.identity.USER_CACHE_SECONDS", trusted)
    app = make_app(tmp_path, user=email)
    if email:
        app.context.database.write_sync(SYSTEM, accounts.add_user, email)

    async def outlive(client: Client) -> CallToolResult:
        user: Any = (await client.call_tool("who_am_i", {})).structured_content
        await app.context.database.write(SYSTEM, accounts.delete_user, user["user"])
        return await client.call_tool("add_task", {"title": "x"})

    result = talk(app, era, outlive)
    renewed = not email and not trusted
    assert result.is_error == (not renewed)
    if result.is_error:
        error: Any = result.structured_content
        assert (error["code"], "was deleted" in str(error)) == ("UNAVAILABLE", True)
        assert "next call makes the default user anew" in error["hint"]
        assert "any other must be added again with `rolltop user add`" in error["hint"]


@ERAS
def test_an_unknown_tool_is_a_protocol_error_that_names_the_nearest(
    tmp_path: Path, era: str
) -> None:
    with pytest.raises(MCPError, match="did you mean add_task") as raised:
        talk(make_app(tmp_path), era, lambda client: client.call_tool("ad_task", {}))
    assert raised.value.code == -32602


@ERAS
@pytest.mark.parametrize("output", ["both", "text", "structured"])
def test_the_output_setting_chooses_what_hosts_get(tmp_path: Path, era: str, output: str) -> None:
    async def ask(client: Client) -> tuple[Any, Any]:
        listed = await client.list_tools()
        (lists,) = (tool for tool in listed.tools if tool.name == "list_tasks")
        return lists.output_schema, await client.call_tool("say", {"text": "x"})

    schema, answer = talk(make_app(tmp_path, output=output), era, ask)
    assert (schema is None) == (output == "text")
    assert (answer.structured_content is None) == (output == "text")
    if output == "structured":
        assert "\n" not in text(answer)
        assert "said" not in text(answer)
    else:
        assert json.loads(text(answer))["said"].startswith("x for ")


@ERAS
def test_resources_are_found_by_their_templates(tmp_path: Path, era: str) -> None:
    async def ask(client: Client) -> None:
        listed = (await client.list_resource_templates()).resource_templates
        assert "rolltop://thing/{name}" in {template.uri_template for template in listed}
        read = await client.read_resource("rolltop://thing/a%20thing")
        assert read.contents[0].model_dump()["text"].startswith("a thing of ")

    talk(make_app(tmp_path), era, ask)


@ERAS
@pytest.mark.parametrize(
    "uri",
    [
        "rolltop://thing/missing",
        "rolltop://thing/",
        "rolltop://thing/..",
        "rolltop://thing/%2e%2e",
        "rolltop://thing/a%2F..%2Fb",
        "rolltop://thing/..%5Cb",
        "rolltop://thing/a%00b",
        "rolltop://thing/%FF",
        "rolltop://thing/a/b",
        "rolltop://thing/" + "x" * 9000,
        "rolltop://nothing/a",
        "file:///etc/passwd",
    ],
)
def test_a_resource_that_is_not_there_is_a_protocol_error(
    tmp_path: Path, era: str, uri: str
) -> None:
    with pytest.raises(MCPError) as raised:
        talk(make_app(tmp_path), era, lambda client: client.read_resource(uri))
    assert raised.value.code == (-32602 if era == MODERN else -32002)
    assert raised.value.data["hint"]


@ERAS
def test_a_resource_the_caller_can_mend_is_no_fault_of_the_servers(
    tmp_path: Path, era: str
) -> None:
    with pytest.raises(MCPError) as raised:
        talk(make_app(tmp_path), era, lambda client: client.read_resource("rolltop://thing/large"))
    assert raised.value.code == -32602
    assert raised.value.data == {"code": "THING_TOO_LARGE", "hint": "Make it smaller."}


@ERAS
@pytest.mark.parametrize("place", ["gone.md#s", "gone.md", "a.md", "a.md#szzzzzzz", "#x"])
def test_a_section_that_is_not_there_is_a_resource_that_is_not_found(
    tmp_path: Path, era: str, place: str
) -> None:
    (tmp_path / "a.md").write_text("# A\n")
    app = make_app(tmp_path, retrieval__roots={"docs": tmp_path})
    with pytest.raises(MCPError) as raised:
        talk(app, era, lambda client: client.read_resource(f"rolltop://section/docs/{place}"))
    assert raised.value.code == (-32602 if era == MODERN else -32002)
    assert raised.value.data["hint"]


@ERAS
def test_completions_are_cut_at_a_hundred_and_say_so(tmp_path: Path, era: str) -> None:
    template = ResourceTemplateReference(uri="rolltop://thing/{name}")

    async def ask(client: Client) -> None:
        found = await client.complete(template, {"name": "name", "value": "a"})
        assert found.completion.values[0] == "name-a0"
        assert len(found.completion.values) == 100
        assert (found.completion.total, found.completion.has_more) == (120, True)
        nothing = await client.complete(PromptReference(name="x"), {"name": "a", "value": ""})
        assert nothing.completion.values == []
        no_variable = await client.complete(template, {"name": "nome", "value": "a"})
        assert no_variable.completion.values == []
        missing = await client.complete(template, {"name": "name", "value": "missing"})
        assert missing.completion.values == []
        unknown = ResourceTemplateReference(uri="rolltop://things/{name}")
        with pytest.raises(MCPError, match="did you mean"):
            await client.complete(unknown, {"name": "name", "value": ""})

    talk(make_app(tmp_path), era, ask)


MALFORMED: list[tuple[str, dict[str, Any], str]] = [
    ("tools/call", {}, "params.name is missing"),
    ("tools/call", {"name": 7}, "params.name must be a string; got 7"),
    ("tools/call", {"name": "say", "arguments": [1]}, "arguments must be an object; got [1]"),
    ("tools/call", {"name": "say", "arguments": "x"}, 'arguments must be an object; got "x"'),
    ("tools/list", {"cursor": {"a": 1}}, 'params.cursor must be a string; got {"a":1}'),
    ("resources/read", {}, "params.uri is missing"),
    ("completion/complete", {"ref": {"type": "x"}, "argument": {}}, "params."),
]


@ERAS
def test_parameters_of_the_wrong_shape_are_refused_by_name(tmp_path: Path, era: str) -> None:
    with StdioServer(tmp_path) as server:
        meta = {"_meta": modern_meta()} if era == MODERN else {}
        if era == LEGACY:
            server.initialize()
            nothing = server.request("tools/call")["error"]
            assert nothing["message"] == "Invalid params for tools/call: params is missing"
        for method, params, said in MALFORMED:
            error = server.request(method, params | meta)["error"]
            assert error["code"] == -32602
            assert error["message"].startswith(f"Invalid params for {method}: params.")
            assert said in error["message"]


@ERAS
def test_prompts_are_listed_and_rendered_and_wrong_ones_refused(tmp_path: Path, era: str) -> None:
    async def ask(client: Client) -> None:
        prompts = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert prompts["explain"].arguments
        rendered = await client.get_prompt("explain", {"topic": "tides"})
        assert rendered.messages[0].content.model_dump()["text"] == "Tell me about tides."
        for name, arguments, said in (
            ("explains", {"topic": "x"}, "did you mean explain"),
            ("explain", {}, "needs its argument topic"),
            ("explain", {"topic": "x", "topik": "y"}, "did you mean topic"),
        ):
            with pytest.raises(MCPError, match=said) as raised:
                await client.get_prompt(name, arguments)
            assert raised.value.code == -32602

    talk(make_app(tmp_path), era, ask)


@ERAS
def test_a_cursor_that_was_never_given_out_is_refused(tmp_path: Path, era: str) -> None:
    with pytest.raises(MCPError) as raised:
        talk(make_app(tmp_path), era, lambda client: client.list_tools(cursor="made up"))
    assert raised.value.code == -32602


def test_the_instructions_hold_no_stored_text_and_are_short(tmp_path: Path) -> None:
    async def ask(client: Client) -> str:
        await client.call_tool("add_task", {"title": "swordfish"})
        return client.instructions or ""

    said = talk(make_app(tmp_path), LEGACY, ask)
    assert "swordfish" not in said
    assert token_counter.count(said) <= 200
    for when in ("At the start", "Before reading a long document", "Before ending"):
        assert when in said
    # All that Codex shows of a server before its tools are searched for.
    shown = said.splitlines()[0][:250]
    for tool in ("desk_resume", "next_task", "add_task"):
        assert tool in shown


@pytest.mark.parametrize(
    ("changed", "named", "left_out"),
    [
        ({"toolsets": ("tasks",)}, "next_task", "note_"),
        ({"exclude_tools": ("scratch_search",)}, "note_list", "scratch_search"),
        ({"read_only": True}, "scratch_search", "add_task"),
        ({"names": "seed"}, "list with a question", "note_list"),
    ],
)
def test_the_instructions_name_offered_tools_only(
    tmp_path: Path, changed: dict[str, Any], named: str, left_out: str
) -> None:
    async def ask(client: Client) -> str:
        return client.instructions or ""

    said = talk(make_app(tmp_path, **changed), LEGACY, ask)
    assert named in said
    assert left_out not in said


@ERAS
def test_hosts_that_load_tools_on_demand_are_told_which_to_have_at_hand(
    tmp_path: Path, era: str
) -> None:
    listed = talk(make_app(tmp_path), era, lambda client: client.list_tools())
    hints: dict[str, dict[str, Any]] = {tool.name: tool.meta or {} for tool in listed.tools}
    at_hand = {name for name, hint in hints.items() if hint == {"anthropic/alwaysLoad": True}}
    core = {"desk_resume", "desk_search", "desk_read", "add_task", "repo_smart_search"}
    assert at_hand == core
    assert hints["repo_search"]["anthropic/searchHint"].startswith("grep")
    for name in hints.keys() - core:
        assert hints[name].keys() <= {"anthropic/searchHint"}


@ERAS
def test_the_whole_list_is_small_as_it_is_sent(tmp_path: Path, era: str) -> None:
    listed = talk(make_app(tmp_path), era, lambda client: client.list_tools())
    declared = {tool.name for toolset in TOOLSETS for tool in toolset.tools}
    sent = [
        tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        for tool in listed.tools
        if tool.name in declared
    ]
    assert token_counter.count(pagination.compact_json(sent)) <= 12_000


def test_read_only_and_seed_names_narrow_the_list(tmp_path: Path) -> None:
    app = make_app(tmp_path, read_only=True, names="seed", toolsets=("example",))

    async def ask(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert "list_things" in names
        assert not names & {"save_thing", "keep_things", "fail", "add_task"}
        with pytest.raises(MCPError):
            await client.call_tool("fail", {"how": "fault"})

    talk(app, LEGACY, ask)


def test_prompts_name_listed_tools_and_repeat_what_was_given(tmp_path: Path) -> None:
    app = make_app(tmp_path, names="seed")
    given = "never call note_save twice"

    async def ask(client: Client) -> str:
        rendered = await client.get_prompt("keep_as_note", {"content": given})
        return rendered.messages[0].content.model_dump()["text"]

    said = talk(app, LEGACY, ask)
    assert given in said
    assert "1. list with a few specific words" in said
    assert "note_" not in said.replace(given, "")
    given = "note"  # a part of names
    assert "note_" not in talk(app, LEGACY, ask)


@ERAS
def test_a_resource_over_the_bound_is_cut_at_a_line_and_says_so(tmp_path: Path, era: str) -> None:
    text = "# A\n\n" + "".join(f"line {n} of many\n" for n in range(5000))
    (tmp_path / "a.md").write_text(text)
    app = make_app(tmp_path, retrieval__roots={"docs": tmp_path}, max_result_tokens=500)

    async def read(client: Client) -> str:
        outline = await client.call_tool("list_sections", {"file_path": "a.md"})
        place = f"rolltop://section/docs/a.md#{outline.structured_content['outline'][0]['id']}"
        found = await client.read_resource(place)
        return found.contents[0].model_dump()["text"]

    cut = talk(app, era, read)
    *lines, note = cut.split("\n")
    assert text.startswith("\n".join(lines) + "\n")
    assert f"cut here, after line {len(lines)}:" in note
    assert 450 < token_counter.count(cut) <= 500


@pytest.mark.parametrize(
    "text",
    [
        "/*! lib */\n" + "var a=function(b){return b+1};" * 2_000 + "\n",
        ("=" * 79 + "\nTitle\n") * 1_000,
        "first\n" + "x" * 20_000 + "\nlast\n",
        "y" * 20_000,
    ],
)
def test_a_file_of_long_lines_is_not_cut_in_silence(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    app = make_app(tmp_path, retrieval__roots={"docs": tmp_path}, max_result_tokens=500)

    async def read(client: Client) -> str:
        found = await client.read_resource("rolltop://file/docs/a.txt")
        return found.contents[0].model_dump()["text"]

    cut = talk(app, MODERN, read)
    begun, _, note = cut.rpartition("\n")
    assert text.startswith(begun)
    assert begun
    whole = text.startswith(begun + "\n")
    line = begun.count("\n") + 1
    assert f"cut here, {'after' if whole else 'within'} line {line}:" in note
    assert token_counter.count(cut) <= 500


@ERAS
def test_every_prompt_names_each_of_its_tools(tmp_path: Path, era: str) -> None:
    async def texts(client: Client) -> dict[str, str]:
        found: dict[str, str] = {}
        for prompt in (await client.list_prompts()).prompts:
            given = {argument.name: "a" for argument in prompt.arguments or ()}
            got = await client.get_prompt(prompt.name, given)
            found[prompt.name] = str(got.messages[0].content)
        return found

    app = make_app(tmp_path)
    tools = {p.name: p.tools for each in app.context.registry.toolsets for p in each.prompts}
    for name, said in talk(app, era, texts).items():
        assert [tool for tool in tools[name] if tool not in said] == []


@ERAS
def test_a_prompt_whose_tools_are_left_out_is_not_offered(tmp_path: Path, era: str) -> None:
    async def names(client: Client) -> set[str]:
        return {prompt.name for prompt in (await client.list_prompts()).prompts}

    offered = talk(make_app(tmp_path / "all"), era, names)
    assert {"plan", "resume", "handover"} <= offered
    reading = talk(make_app(tmp_path / "reading", read_only=True), era, names)
    assert not {"plan", "handover"} & reading
    assert "resume" in reading
    assert "digest_document" in reading
