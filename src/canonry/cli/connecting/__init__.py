"""Connecting clients: which exist, where their settings lie, and how a server is written there."""
