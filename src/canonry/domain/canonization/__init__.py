"""Canonization: the order of judging, the verdict, and what an accepted proposal writes."""
