"""Read replicas and projections that follow the log of another engine."""
