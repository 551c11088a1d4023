"""Calls that are cut off: the session that is played, and the contract that cuts it."""
