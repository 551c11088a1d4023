"""What may become true and who may see it: sessions, gates, canonization, commands and queries."""
