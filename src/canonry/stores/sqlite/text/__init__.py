"""Keywords in SQLite: what passages become in the index, and how they are found."""
