"""The catalog toolset: the PsyMetric contract's four tools, which read and do nothing else."""

from canonry.catalog.toolset.toolset import CATALOG, FACE

__all__ = ["CATALOG", "FACE"]
