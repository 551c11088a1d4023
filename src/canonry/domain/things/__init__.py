"""The nouns of a canon: entities, relations, facts, scenes, proposals, memories and sources."""
