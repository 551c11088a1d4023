"""Interpreters: rules on this machine, or a language model behind an endpoint.

Each is imported from its own module, so that rules alone load no client for endpoints.
"""
