"""The demonstration: a real server on an embedded store, real MCP clients, and a small world."""
