"""Clients of language models over HTTP, and the ports to a speaking model."""
