"""The skill of the program, as hosts list and get it: the extension io.modelcontextprotocol/skills.

https://github.com/modelcontextprotocol/ext-skills/blob/main/specification/stable/skills.mdx
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Any, Final

from mcp import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CacheableResult,
    PaginatedRequestParams,
    PaginatedResult,
    RequestParams,
    Resource,
    TextResourceContents,
)

from rolltop.core import skill
from rolltop.server.error_middleware import Context, Route, refuse_cursor, unknown_name_message

EXTENSION: Final = "io.modelcontextprotocol/skills"
_MEDIA_TYPE: Final = "text/markdown"
_TTL_MS: Final = 3_600_000  # it changes with the program alone
URI: Final = f"skill://{skill.NAME}/{skill.FILE_NAME}"


class GetSkillParams(RequestParams):
    """The parameters of skills/get: the address of a skill's file."""

    uri: str


class ListSkillsResult(PaginatedResult, CacheableResult):
    """The answer of skills/list."""

    skills: list[dict[str, Any]]
    result_type: str = "complete"


class GetSkillResult(CacheableResult):
    """The answer of skills/get."""

    skill: dict[str, Any]
    result_type: str = "complete"


class SkillHandlers:
    """The one skill, whole in one file."""

    @cached_property
    def contents(self) -> TextResourceContents:
        """The file."""
        return TextResourceContents(uri=URI, mime_type=_MEDIA_TYPE, text=skill.read_skill())

    @cached_property
    def entry(self) -> dict[str, Any]:
        """What the skill says of itself, and its file's hash."""
        raw = self.contents.text.encode()
        digest = f"sha256:{hashlib.sha256(raw).hexdigest()}"
        return {
            "uri": URI,
            "frontmatter": skill.parse_frontmatter(self.contents.text),
            "resources": [{"uri": URI, "digest": digest, "size": len(raw)}],
        }

    @property
    def resource(self) -> Resource:
        """The file as resources are listed."""
        described = self.entry["frontmatter"]
        return Resource(
            uri=URI,
            name=described["name"],
            description=described["description"],
            mime_type=_MEDIA_TYPE,
            size=self.entry["resources"][0]["size"],
        )

    def routes(self) -> list[Route]:
        """Return the methods to serve."""
        return [
            ("skills/list", PaginatedRequestParams, self.list),
            ("skills/get", GetSkillParams, self.get),
        ]

    async def list(
        self, _context: Context, params: PaginatedRequestParams | None
    ) -> ListSkillsResult:
        """Return the skill."""
        refuse_cursor(params)
        return ListSkillsResult(skills=[self.entry], ttl_ms=_TTL_MS, cache_scope="public")

    async def get(self, _context: Context, params: GetSkillParams) -> GetSkillResult:
        """Return the skill by its address."""
        if params.uri != URI:
            message = unknown_name_message("skill", params.uri, [URI])
            raise MCPError(INVALID_PARAMS, message)
        return GetSkillResult(skill=self.entry, ttl_ms=_TTL_MS, cache_scope="public")
