"""The operator toolset: tools that no contract has, for whoever keeps a store; off by default."""

from canonry.catalog.operator.toolset import FACE, OPERATOR

__all__ = ["FACE", "OPERATOR"]
