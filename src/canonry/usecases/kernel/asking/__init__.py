"""What a process remembers of the records that are asked about."""
