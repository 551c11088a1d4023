"""Rules and visibility of canon: sessions, gates, canonization, commands and queries."""
