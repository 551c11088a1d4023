"""Read-only catalogs of projects and their items; the toolset `catalog`."""
