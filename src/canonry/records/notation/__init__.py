"""How numbers, labels, parties and places are written in documents."""
