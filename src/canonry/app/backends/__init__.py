"""Stores on servers that a team runs: what their parts are, and how one is opened and mended."""
