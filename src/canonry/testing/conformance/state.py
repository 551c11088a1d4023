"""The contract of `canonry.ports.views.state.State`, put together from its parts."""

from canonry.testing.conformance.state_entities import EntityContract
from canonry.testing.conformance.state_facts import FactContract
from canonry.testing.conformance.state_graph import GraphContract
from canonry.testing.conformance.state_history import HistoryContract
from canonry.testing.conformance.state_identity import IdentityContract
from canonry.testing.conformance.state_records import RecordsContract


class StateContract(
    EntityContract,
    FactContract,
    GraphContract,
    HistoryContract,
    IdentityContract,
    RecordsContract,
):
    """All that a state view promises."""
