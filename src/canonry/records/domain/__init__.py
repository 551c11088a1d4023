"""Rules of records: assertions, identity keys, interpretations, questions and snapshots."""
