"""Ports for moderators and rulebooks."""
