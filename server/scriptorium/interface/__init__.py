"""The edge: the six tools, the MCP server, the command line, settings, doctor and demo."""
