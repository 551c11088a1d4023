"""Frames: the subject and content of a statement, independent of its wording."""
