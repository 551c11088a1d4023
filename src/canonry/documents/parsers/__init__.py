"""Parsers of untrusted files. They run in a process that `readers` starts and kills."""
