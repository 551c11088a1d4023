"""Moderation: what may not stand in a shared world, by word lists and rules."""
