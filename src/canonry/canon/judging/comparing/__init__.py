"""Comparing statements: whether what one says and what another says can both be true."""
