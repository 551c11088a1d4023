"""Commands that create and change entities, facts, relations and sources."""
