"""The reader of statements, with a table of words for each language."""
