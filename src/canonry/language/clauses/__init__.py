"""Frames: what a statement says of whom, apart from how it is worded."""
