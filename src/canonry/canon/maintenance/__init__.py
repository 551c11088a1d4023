"""Export, import, erasure, retention and verification of a store."""
