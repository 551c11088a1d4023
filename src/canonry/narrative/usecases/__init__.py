"""Playing: stories, scenes, turns, memories, and the context of the next turn."""
