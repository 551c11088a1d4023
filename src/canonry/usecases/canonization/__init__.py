"""Proposals and what becomes of them: staged, judged, written, and scenes that are closed by it."""
