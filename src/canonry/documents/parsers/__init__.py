"""Parsers of files that may be hostile: they run in a process that `readers` starts and kills."""
