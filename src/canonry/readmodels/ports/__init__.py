"""Ports of read models: state, text, vectors, locations, catalog and documents."""
