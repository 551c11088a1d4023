"""The graph in SQLite: entities, identifiers, sightings and the timeline."""
