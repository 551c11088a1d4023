"""The event log: items, entries, commits, the fold, and the sealing of each commit."""
