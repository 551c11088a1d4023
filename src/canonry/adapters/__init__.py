"""Engines, one folder each; none knows another."""
