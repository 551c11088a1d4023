"""An engine: the ledger of a store and the views that it answers from."""

from typing import Protocol

from canonry.log.ports.ledger import Ledger
from canonry.readmodels.ports.catalog import Catalog
from canonry.readmodels.ports.documents import Documents
from canonry.readmodels.ports.places import Places
from canonry.readmodels.ports.state import State
from canonry.readmodels.ports.text import Text


class Engine(Protocol):
    """An open store of any engine; a `Canon` over it is one as well."""

    @property
    def ledger(self) -> Ledger:
        """The log, which commits are appended to."""

    @property
    def state(self) -> State:
        """Items, and questions about entities, facts and relations."""

    @property
    def documents(self) -> Documents:
        """Scenes, turns, proposals and sources."""

    @property
    def text(self) -> Text:
        """Passages by their words."""

    @property
    def catalog(self) -> Catalog:
        """Rows of catalogs."""

    @property
    def places(self) -> Places:
        """Edges of worlds."""
