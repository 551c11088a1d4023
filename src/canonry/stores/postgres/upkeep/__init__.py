"""Upkeep in PostgreSQL: preparing, folding, verifying and erasing."""
