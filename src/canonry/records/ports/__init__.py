"""Ports of the records package: interpreters and file hosts."""
