"""Utterances: what a player says in free words, read as what their character sets out to do."""
