"""Records as truth sees them: files, assertions, identity keys, typed fields and timelines."""
