"""Canonizing tools: what is proposed, how it is judged, and what somebody has to look at."""
