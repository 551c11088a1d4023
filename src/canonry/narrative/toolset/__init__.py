"""The toolset `narrative`: the 21 tools of the MONITOR contract, and its extensions."""

from canonry.narrative.toolset.toolset import EXACT, FACE, NARRATIVE

__all__ = ["EXACT", "FACE", "NARRATIVE"]
