"""The read side: rows that are derived from items, and the questions that are asked of them."""
