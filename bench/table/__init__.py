"""What is said at a table: labelled sentences, and how well they are read."""
