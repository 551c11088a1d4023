"""Clients, the locations of their settings, and edits of these settings."""
