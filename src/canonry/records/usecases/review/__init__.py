"""Reviewing what sources left unclear: what waits for a word, and the word that settles it."""
