"""Documents as people have them, each with its true values, and how much of them is read."""
