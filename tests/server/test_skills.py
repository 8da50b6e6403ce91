"""The skill over the protocol: the extension io.modelcontextprotocol/skills."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from tests.server.processes import StdioServer, modern_meta

if TYPE_CHECKING:
    from pathlib import Path


def test_the_skill_is_listed_got_and_read_as_its_hash_says(tmp_path: Path) -> None:
    modern = {"_meta": modern_meta()}
    with StdioServer(tmp_path) as server:
        offered = server.request("server/discover", modern)["result"]["capabilities"]
        assert offered["extensions"] == {"io.modelcontextprotocol/skills": {}}
        answer = server.request("skills/list", modern)["result"]
        assert (answer["resultType"], answer["cacheScope"]) == ("complete", "public")
        [listed] = answer["skills"]
        uri = {"uri": listed["uri"]}
        assert server.request("skills/get", {**modern, **uri})["result"]["skill"] == listed
        assert listed["frontmatter"]["name"] == listed["uri"].split("/")[-2]
        [contents] = server.request("resources/read", {**modern, **uri})["result"]["contents"]
        raw = contents["text"].encode()
        digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
        assert listed["resources"] == [{**uri, "digest": digest, "size": len(raw)}]
        [resource] = server.request("resources/list", modern)["result"]["resources"]
        assert (resource["uri"], resource["mimeType"]) == (listed["uri"], contents["mimeType"])
        for wrong in ({"uri": "skill://other/SKILL.md"}, {}):
            refused = server.request("skills/get", {**modern, **wrong})
            assert refused["error"]["code"] == -32602


def test_without_the_tools_that_it_names_there_is_no_skill(tmp_path: Path) -> None:
    modern = {"_meta": modern_meta()}
    with StdioServer(tmp_path, toolsets="tasks") as server:
        offered = server.request("server/discover", modern)["result"]["capabilities"]
        assert "extensions" not in offered
        assert server.request("skills/list", modern)["error"]["code"] == -32601
