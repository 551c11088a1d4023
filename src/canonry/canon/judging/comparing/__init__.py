"""Compare statements to find pairs that cannot both be true."""
