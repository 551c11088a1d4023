"""What views show of things: rows that follow from a thing alone, the same in every engine."""
