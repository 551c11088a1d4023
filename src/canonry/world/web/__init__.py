"""The HTTP routes of a world: dialogue and programs."""
