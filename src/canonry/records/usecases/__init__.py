"""Records and documents: sources become observations and snapshots, each field with its origin."""
