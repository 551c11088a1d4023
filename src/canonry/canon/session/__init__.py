"""The session of a use case: the caller, lookups and commits."""
