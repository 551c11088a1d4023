"""Stores on servers: their parts, how they are opened, and how they are repaired."""
