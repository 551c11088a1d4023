"""Keywords in PostgreSQL: what passages become in the index, and how they are found."""
