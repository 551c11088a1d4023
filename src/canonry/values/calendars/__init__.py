"""Calendars: how a world counts its days, and how people there say when."""
