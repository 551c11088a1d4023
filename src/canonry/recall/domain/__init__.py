"""Recall as formulas: passages, portraits, keywords, ranking and context."""
