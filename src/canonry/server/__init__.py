"""The host: the MCP binding, standard input and output, HTTP, identity, health and metrics."""
