"""What a person or a client can look through: readable resources, and the shelves they are on."""
