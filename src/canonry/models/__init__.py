"""Clients of language models over HTTP, and the ports by which a server speaks to them."""
