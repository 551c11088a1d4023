from collections.abc import AsyncIterator

import pytest

from canonry.stores.qdrant import QdrantVectors, open_vectors
from canonry.testing.clocks import CountingIdentities
from canonry.testing.conformance import VectorsContract

# No registry carries the server, so that the client's local mode stands for it: it has no indexes.
pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")


class TestQdrantVectors(VectorsContract):
    @pytest.fixture
    async def vectors(self) -> AsyncIterator[QdrantVectors]:
        opened = open_vectors(":memory:", identities=CountingIdentities())
        yield opened
        await opened.close()
