"""The canon as use cases see it: the ports that they are given, and what never changes in them."""

from dataclasses import dataclass, field

from canonry.domain.ids import SpaceId
from canonry.domain.policy import Policy
from canonry.ports.document_reader import DocumentReader
from canonry.ports.records.ledger import Ledger
from canonry.ports.views.catalog import Catalog
from canonry.ports.views.documents import Documents
from canonry.ports.views.places import Places
from canonry.ports.views.state import Spaces, State
from canonry.ports.views.text import Text
from canonry.ports.world import Clock, Identities
from canonry.usecases.kernel.caller import Caller
from canonry.usecases.kernel.filing import Filing
from canonry.usecases.kernel.recall import Recall
from canonry.usecases.kernel.sight import Sight
from canonry.usecases.kernel.space_kinds import SpaceKinds


@dataclass(frozen=True, slots=True, kw_only=True)
class Canon:
    """Everything a use case may touch; without `recall`, passages are found by words alone.

    Without `filing` no files are kept. Whoever answers a caller looks things up through `seen_by`
    or `within`; `state` by itself gives what lies in any space.
    """

    ledger: Ledger
    state: State
    documents: Documents
    text: Text
    catalog: Catalog
    places: Places
    clock: Clock
    identities: Identities
    policy: Policy
    reader: DocumentReader
    recall: Recall | None = None
    filing: Filing | None = None
    space_kinds: SpaceKinds = field(default_factory=SpaceKinds)

    def seen_by(self, caller: Caller) -> Sight:
        """Lookups that know of nothing that the caller may not see.

        A caller to whom nobody has granted anything in particular sees every space but accounts,
        and the own account.
        """
        return Sight(state=self.state, kinds=self.space_kinds, spaces=caller.spaces, caller=caller)

    def within(self, *spaces: SpaceId) -> Sight:
        """Lookups that know of nothing beyond these spaces, which the caller was found to see."""
        return self.covering(frozenset(spaces))

    def covering(self, spaces: Spaces) -> Sight:
        """The same for the spaces that a query covers."""
        return Sight(state=self.state, kinds=self.space_kinds, spaces=spaces)
