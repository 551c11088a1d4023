"""The canon: values and pure functions; no input or output, clock, randomness or framework."""
