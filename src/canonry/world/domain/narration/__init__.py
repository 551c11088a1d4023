"""Narration: what a narrator claims, held against what is so, within the bounds of plausibility."""
