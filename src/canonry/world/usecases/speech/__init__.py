"""Speech: what players say, read as intents, and held against what may stand."""
