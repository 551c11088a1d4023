"""Upkeep in SQLite: backing up, rebuilding, verifying and erasing."""
