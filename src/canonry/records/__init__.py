"""Documents and records with provenance; the toolset `truth`."""
