"""Ports for readers of documents."""
