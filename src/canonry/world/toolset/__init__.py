"""The world toolset: the Shifting Atlas contract's tools, and the builders' extensions."""

from canonry.world.toolset.toolset import EXACT, FACE, WORLD

__all__ = ["EXACT", "FACE", "WORLD"]
