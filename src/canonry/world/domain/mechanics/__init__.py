"""Mechanics: the rules of the game as reference, dice, and what of them a state allows."""
