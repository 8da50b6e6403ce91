"""What every toolset stands on; knows no toolset, no MCP and no HTTP."""
