"""Locations, movement, clock and gated proposals of online worlds; the toolset `world`."""
