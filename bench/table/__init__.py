"""Labelled sentences of people at a table, and measures of how well they are read."""
