"""Calendars: how a world counts its days, and how its dates are written."""
