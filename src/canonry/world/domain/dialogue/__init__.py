"""Dialogue: what a character is told before it speaks, and what is made of what it says."""
