"""The truth toolset: the actions of the Neotoma contract, with extensions."""

from canonry.records.toolset.toolset import EXACT, FACE, TRUTH

__all__ = ["EXACT", "FACE", "TRUTH"]
