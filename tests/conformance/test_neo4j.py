"""The graph in Neo4j keeps every promise of the state, on a real server."""

from collections.abc import AsyncIterator

import pytest

from canonry.testing.conformance import Backend, StateContract, ViewContract
from tests.conformance.neo4j_store import graphs


class OnNeo4j:
    @pytest.fixture
    async def backend(self) -> AsyncIterator[Backend]:
        async with graphs() as opened:
            yield await opened.fresh()


class TestNeo4jState(OnNeo4j, StateContract):
    pass


class TestNeo4jAsAView(OnNeo4j, ViewContract):
    pass
