"""Conformance contracts. Subclass each contract, give it a fixture `backend`, and run pytest."""

from canonry.testing.conformance.catalog import CatalogContract as CatalogContract
from canonry.testing.conformance.cuts import CutsContract as CutsContract
from canonry.testing.conformance.documents import DocumentsContract as DocumentsContract
from canonry.testing.conformance.documents import PlacesContract as PlacesContract
from canonry.testing.conformance.histories import HistoriesContract as HistoriesContract
from canonry.testing.conformance.histories import SharedHistoriesContract as SharedHistoriesContract
from canonry.testing.conformance.kit import REQUIREMENTS as REQUIREMENTS
from canonry.testing.conformance.kit import Backend as Backend
from canonry.testing.conformance.kit import Contract as Contract
from canonry.testing.conformance.kit import Damages as Damages
from canonry.testing.conformance.kit import KnownGap as KnownGap
from canonry.testing.conformance.kit import proved_by as proved_by
from canonry.testing.conformance.kit import requirement as requirement
from canonry.testing.conformance.ledger import LedgerContract as LedgerContract
from canonry.testing.conformance.maintenance import BlobsContract as BlobsContract
from canonry.testing.conformance.maintenance import DurabilityContract as DurabilityContract
from canonry.testing.conformance.maintenance import DurableBlobsContract as DurableBlobsContract
from canonry.testing.conformance.maintenance import MaintenanceContract as MaintenanceContract
from canonry.testing.conformance.maintenance import (
    SharedMaintenanceContract as SharedMaintenanceContract,
)
from canonry.testing.conformance.maintenance import SizesContract as SizesContract
from canonry.testing.conformance.maintenance import WritersContract as WritersContract
from canonry.testing.conformance.state import StateContract as StateContract
from canonry.testing.conformance.text import TextContract as TextContract
from canonry.testing.conformance.view import VectorsContract as VectorsContract
from canonry.testing.conformance.view import ViewContract as ViewContract
