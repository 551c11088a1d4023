"""The attributes: everything that can be said of a subject."""
