"""Catalogs: projects, items and relations of the canon, and their rows."""
