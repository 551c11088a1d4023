"""Worlds: locations, clocks, movement and lore, read and changed at one tick."""
