"""The online world as values: places and ways, layers, clocks, lore; all folded from one canon."""
