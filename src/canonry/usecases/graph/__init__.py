"""Direct writes of canon: entities, facts, events, relations and what they rest on."""
