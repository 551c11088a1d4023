"""A world as values: locations and exits, layers, clocks, lore; all folded from canon."""
