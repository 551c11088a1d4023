"""Attacks for a stated time: kill -9, races, floods, flipped bits, fuzz and stalls, counted."""
