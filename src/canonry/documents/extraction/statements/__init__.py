"""Bank statements: what their columns mean, how they write sums and days, and what proves it."""
