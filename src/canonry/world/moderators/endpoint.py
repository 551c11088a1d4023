"""A moderator behind an endpoint of the OpenAI protocol, beside the rules, which always hold.

If the endpoint does not answer, the rules alone decide.
"""

from collections.abc import Mapping
from typing import Any, Final

from typing_extensions import override

from canonry.models.endpoint import Connection, ModelEndpoint, auth_headers
from canonry.models.outside_services import OutsideService
from canonry.values.data_files import read_toml
from canonry.values.errors import Unavailable
from canonry.world.domain.moderation.moderating import TEXT_MAX, Moderation, moderate_by_words
from canonry.world.ports.moderator import Moderator

_OURS: Final[Mapping[str, str]] = read_toml(__package__, "categories.toml")["ours"]


class EndpointModerator(Moderator):
    """Adds what a model finds to what the rules say."""

    def __init__(self, endpoint: ModelEndpoint, service: OutsideService | None = None) -> None:
        """Ask the endpoint about what the rules let stand."""
        service = service or OutsideService("moderator")
        self._connection = Connection(endpoint, auth_headers(endpoint.key), service)

    @override
    async def moderate_text(self, text: str) -> Moderation:
        ruled = moderate_by_words(text)
        found = await self._ask_endpoint(text) if ruled.allowed else None
        if found is None:
            return ruled
        categories = frozenset(ours for name, ours in _OURS.items() if found.get(name) is True)
        return ruled.with_categories(self._connection.endpoint.model, categories)

    @override
    async def close(self) -> None:
        await self._connection.close()

    async def _ask_endpoint(self, text: str) -> Mapping[str, Any] | None:
        """Return the endpoint's categories; None if its answer is unusable."""
        body = {"model": self._connection.endpoint.model, "input": text[:TEXT_MAX]}
        try:
            answer = await self._connection.post_json(
                "/moderations", body, {**body, "input": "hello"}
            )
            found = answer["results"][0]["categories"]
        except (Unavailable, LookupError, TypeError):
            return None
        return found if isinstance(found, Mapping) else None
