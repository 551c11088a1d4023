"""A whole store: its log in and out, its files, erasure and verification."""
