"""Catalogs in SQLite: their rows, their graphs and their search index."""
