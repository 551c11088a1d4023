"""Ports of read models: state, text, vectors, places, catalog and documents."""
