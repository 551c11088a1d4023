"""Interpreters: rules on this machine, or a language model at an endpoint or at the client."""
