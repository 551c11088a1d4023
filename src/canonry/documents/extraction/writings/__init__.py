"""Writings: what agreements, letters and minutes say in sentences rather than behind labels."""
