"""Proposals, their verdicts, and how scenes are canonized."""
