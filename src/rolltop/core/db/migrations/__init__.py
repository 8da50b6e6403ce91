"""Core's schema, revision by revision."""

HEAD = "core_0016"
