"""Recall: passages found by words and by meaning, and the index that finds them."""
