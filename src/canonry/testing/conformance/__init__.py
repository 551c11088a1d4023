"""Conformance contracts. Subclass each contract, give it a fixture `backend`, and run pytest."""

from canonry.testing.conformance.catalog import CatalogContract
from canonry.testing.conformance.cuts import CutsContract
from canonry.testing.conformance.documents import DocumentsContract, PlacesContract
from canonry.testing.conformance.histories import HistoriesContract, SharedHistoriesContract
from canonry.testing.conformance.kit import (
    REQUIREMENTS,
    Backend,
    Contract,
    Damages,
    KnownGap,
    proved_by,
    requirement,
)
from canonry.testing.conformance.ledger import LedgerContract
from canonry.testing.conformance.state import StateContract
from canonry.testing.conformance.text import TextContract
from canonry.testing.conformance.upkeep import (
    BlobsContract,
    DurabilityContract,
    DurableBlobsContract,
    SharedUpkeepContract,
    SizesContract,
    UpkeepContract,
    WritersContract,
)
from canonry.testing.conformance.view import VectorsContract, ViewContract

__all__ = [
    "REQUIREMENTS",
    "Backend",
    "BlobsContract",
    "CatalogContract",
    "Contract",
    "CutsContract",
    "Damages",
    "DocumentsContract",
    "DurabilityContract",
    "DurableBlobsContract",
    "HistoriesContract",
    "KnownGap",
    "LedgerContract",
    "PlacesContract",
    "SharedHistoriesContract",
    "SharedUpkeepContract",
    "SizesContract",
    "StateContract",
    "TextContract",
    "UpkeepContract",
    "VectorsContract",
    "ViewContract",
    "WritersContract",
    "proved_by",
    "requirement",
]
