"""Language models of a world and the record of each use."""
