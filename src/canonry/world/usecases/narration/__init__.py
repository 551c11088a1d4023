"""Narration: what a narrator says, held against the world as it is."""
