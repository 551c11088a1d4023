"""Word lists of the clause reader, as data."""
