"""The MCP server: the only package that knows the MCP SDK and the web stack."""
