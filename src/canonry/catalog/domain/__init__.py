"""Catalogs: projects, items and relations as things of the canon, and their rows."""
