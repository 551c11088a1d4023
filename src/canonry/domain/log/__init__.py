"""The log: entries and commits, their stored form, and the fold that says what they do."""
