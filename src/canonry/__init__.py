"""Canonry: a server of canonical truth for AI agents."""

__version__ = "0.1.0"
