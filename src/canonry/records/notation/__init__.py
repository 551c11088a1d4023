"""Notations of numbers, labels, parties, and locations in documents."""
