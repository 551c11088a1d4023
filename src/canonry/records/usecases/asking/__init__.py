"""Questions about the own account: searching its records, and summing them up."""
