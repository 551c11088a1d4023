"""What the core asks of the world, as protocols over domain values."""
