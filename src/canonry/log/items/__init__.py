"""The items that commits create and change: entities, facts, relations, scenes, sources."""
