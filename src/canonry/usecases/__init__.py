"""What the server can do: one file, one verb."""
