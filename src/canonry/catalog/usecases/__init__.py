"""Catalogs: projects with their items and relations, browsed, edited, brought in and out."""
