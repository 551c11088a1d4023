"""What every use case may need: canon, caller, sight, lookups, commits; it imports no room."""
