"""Create proposals, decide them, and canonize scenes."""
