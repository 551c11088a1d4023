"""Contradictions: how well conflicting statements are told from those that can both be true."""
