"""HTTP: bodies with what JSON can hold and little else can: half characters and deep nests."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.server.processes import LEGACY, MODERN, HttpServer, rpc_request, sse_or_json

if TYPE_CHECKING:
    from collections.abc import Iterator

ERAS = [LEGACY, MODERN]
HALF = "\ud800"
DEEP = json.loads("[" * 96 + "]" * 96)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    """A server on the loopback."""
    with HttpServer(tmp_path_factory.mktemp("http")) as running:
        yield running


def named(server: HttpServer, header: str, method: str, params: Any) -> tuple[int, Any]:
    """Return status and message of a request of the modern era whose `Mcp-Name` is `header`."""
    body, headers = rpc_request(method, params, era=MODERN)
    headers["mcp-name"] = header
    status, _, answer = server.ask("POST", "/mcp", body, headers)
    return status, sse_or_json(answer)


@pytest.mark.parametrize("beside", [HALF, DEEP, {HALF: 1}], ids=["half", "deep", "key"])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "add_task", "arguments": {"title": "smuggled"}}),
        ("tools/call", {"name": HALF, "arguments": {}}),
        ("tools/call", {"name": ["list_tasks"], "arguments": {}}),
        ("prompts/get", {"name": "explain", "arguments": {"topic": "ships"}}),
        ("resources/read", {"uri": "rolltop://thing/one"}),
    ],
)
def test_a_name_in_the_header_is_held_against_the_body_whatever_else_is_in_there(
    server: HttpServer, method: str, params: dict[str, Any], beside: Any
) -> None:
    status, answer = named(server, "list_tasks", method, {**params, "beside": beside})
    assert (status, answer["id"], answer["error"]["code"]) == (400, 1, -32020)
    listed = server.call("list_tasks", era=MODERN)["structuredContent"]["data"]
    assert [task["title"] for task in listed] == []


@pytest.mark.parametrize("beside", [HALF, DEEP, {HALF: 1}], ids=["half", "deep", "key"])
def test_a_request_whose_header_names_what_its_body_does_is_served_whatever_else_is_in_there(
    server: HttpServer, beside: Any
) -> None:
    params: dict[str, Any] = {"name": "who_am_i", "arguments": {}, "beside": beside}
    status, answer = named(server, "who_am_i", "tools/call", params)
    assert (status, answer["result"]["isError"]) == (200, False)
    params = {"uri": "rolltop://thing/one", "beside": beside}
    status, answer = named(server, params["uri"], "resources/read", params)
    assert status == 200
    assert answer["result"]["contents"][0]["text"].startswith("one of ")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("prompts/get", {"name": "plan", "arguments": {"goal": f"a goal{HALF}"}}),
        ("prompts/get", {"name": "explain", "arguments": {"topic": f"\udfff{HALF}"}}),
        ("resources/read", {"uri": f"rolltop://thing/{HALF}"}),
        ("resources/read", {"uri": f"rolltop://file/docs/{HALF}.md"}),
        ("resources/read", {"uri": HALF}),
    ],
)
def test_half_a_character_in_an_address_or_a_prompt_is_refused_in_both_eras(
    server: HttpServer, era: str, method: str, params: dict[str, Any]
) -> None:
    body, headers = rpc_request(method, params, era=era)
    if era == MODERN:
        headers["mcp-name"] = params.get("name", "no header can hold such an address")
    _, _, answer = server.ask("POST", "/mcp", body, headers)
    message = sse_or_json(answer)
    assert message["id"] == 1
    if era == MODERN and "uri" in params:
        assert message["error"]["code"] == -32020
    else:
        assert message["error"]["code"] == -32602
        assert message["error"]["data"]["code"] == "INVALID_TEXT"


@pytest.mark.parametrize("era", ERAS)
def test_whatever_an_answer_repeats_it_can_be_sent(server: HttpServer, era: str) -> None:
    thing = {"type": "ref/resource", "uri": "rolltop://thing/{name}"}
    params: dict[str, Any] = {"ref": thing, "argument": {"name": "name", "value": f"a{HALF}"}}
    answer = server.rpc("completion/complete", params, era=era)[1]
    assert answer["result"]["completion"]["values"][0] == "name-a\ufffd0"
    params = {"name": "explain", "arguments": {"topic": "x", HALF: {HALF: 1}}}
    answer = server.rpc("prompts/get", params, era=era)[1]
    assert (answer["id"], answer["error"]["code"]) == (1, -32602)
    params = {"ref": {"type": HALF, "uri": HALF}, "argument": {HALF: 1}}
    answer = server.rpc("completion/complete", params, era=era)[1]
    assert (answer["id"], answer["error"]["code"]) == (1, -32602)


@pytest.mark.parametrize("era", ERAS)
def test_a_prompt_repeats_no_text_without_end(server: HttpServer, era: str) -> None:
    longest = "note_list " * 10_000
    params = {"name": "explain", "arguments": {"topic": longest}}
    message = server.rpc("prompts/get", params, era=era)[1]["result"]["messages"][0]
    assert message["content"]["text"] == f"Tell me about {longest}."
    params = {"name": "explain", "arguments": {"topic": f"{longest}."}}
    error = server.rpc("prompts/get", params, era=era)[1]["error"]
    assert error["code"] == -32602
    assert "topic has more than 100,000 characters" in error["message"]
