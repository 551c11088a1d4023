"""Catalogs in PostgreSQL: their rows and their graphs."""
