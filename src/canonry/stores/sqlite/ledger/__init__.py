"""The log in SQLite: records as rows, and the one way in which they are written."""
