"""Notations of numbers, labels, parties and places in documents."""
