"""Moderators: by word lists and rules, and behind an endpoint."""
