"""Rolltop: one MCP server that gives AI agents a durable desk."""

__version__ = "0.1.0"
