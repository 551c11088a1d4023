"""Moderators that run on this machine."""
