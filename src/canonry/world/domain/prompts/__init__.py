"""Prompts: the versioned texts that models are asked by, each known by the hash of what it is."""
