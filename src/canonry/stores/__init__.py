"""One package an engine; an engine knows the log and the read models and no other engine."""
