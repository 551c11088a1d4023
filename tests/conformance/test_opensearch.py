from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from canonry.testing.conformance import Backend, TextContract, ViewContract
from tests.conformance.opensearch_text import beside_memory


class OnOpenSearch:
    @pytest.fixture
    async def backend(self) -> AsyncIterator[Backend]:
        async with AsyncExitStack() as closing:
            yield await beside_memory(closing)


class TestOpenSearchText(OnOpenSearch, TextContract):
    pass


class TestOpenSearchViews(OnOpenSearch, ViewContract):
    pass
