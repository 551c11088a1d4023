"""Read models: rows derived from items, and the ports that query them."""
