"""Proposals of a world: judged by the gates, recorded with the verdict, and only then applied."""
