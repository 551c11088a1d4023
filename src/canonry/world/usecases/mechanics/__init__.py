"""Mechanics: the rules beside a world's state, which know nothing of each other."""
