"""One package per engine. An engine depends on the log and the read models only."""
