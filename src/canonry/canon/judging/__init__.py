"""What gates look at: a proposal as a candidate, what it says, and the slice of canon it meets."""
