"""Toolsets: tools grouped by noun, each with its published contract and error dialect."""
