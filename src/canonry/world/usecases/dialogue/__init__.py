"""Dialogue: a player speaks to a character and waits for words that claim nothing untrue."""
