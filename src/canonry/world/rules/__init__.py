"""Rulebooks: published rules that come as packages."""
