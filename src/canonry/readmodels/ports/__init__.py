"""What the read side asks of an engine: state, text, vectors, places, catalog, documents."""
