"""Questions about the records of an account: rows, what selects them, and their sums."""
