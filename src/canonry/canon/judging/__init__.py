"""Input of the gates: candidates, their parsed contents, and slices of the canon."""
