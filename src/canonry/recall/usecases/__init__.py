"""Recall: search by words and by meaning, and its index."""
