"""Independent programs that witness how Rolltop speaks MCP: `make conformance`."""
