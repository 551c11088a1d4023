"""A moderator behind an endpoint of the OpenAI protocol, beside the rules, which always hold.

Where the endpoint does not answer, the rules alone are what is known.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx2
from typing_extensions import override

from canonry.domain.world.moderation.moderating import CATEGORIES, Moderation
from canonry.domain.world.moderation.writing import TEXT_MAX
from canonry.ports.moderator import Moderator

_OK: Final = 200
_ANSWER_MAX: Final = 1 << 20
_OURS: Final[Mapping[str, str]] = {
    "harassment": "harassment",
    "harassment/threatening": "threat",
    "hate": "hate",
    "hate/threatening": "hate",
    "illicit": "dangerous",
    "illicit/violent": "dangerous",
    "self-harm": "self-harm",
    "self-harm/intent": "self-harm",
    "self-harm/instructions": "self-harm",
    "sexual": "sexual",
    "sexual/minors": "sexual-minors",
}
"""Violence as such is no category of a game's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeratingEndpoint:
    """Where the endpoint is; `timeout` in seconds."""

    base_url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout: float = 1.0


class EndpointModerator(Moderator):
    """Adds what a model finds to what the rules say."""

    def __init__(self, rules: Moderator, endpoint: ModeratingEndpoint) -> None:
        """Ask `rules` first, and the endpoint about what they let stand."""
        self._rules = rules
        self._endpoint = endpoint

    @override
    def moderate(self, text: str) -> Moderation:
        ruled = self._rules.moderate(text)
        if not ruled.allowed:
            return ruled
        found = self._asked(text)
        if found is None:
            return ruled
        told = frozenset(ours for name, ours in _OURS.items() if found.get(name) is True)
        return replace(
            ruled,
            categories=tuple(each for each in CATEGORIES if each in told),
            policy_version=f"{ruled.policy_version}+{self._endpoint.model}",
        )

    def _asked(self, text: str) -> Mapping[str, Any] | None:
        """The categories of the endpoint; None where it did not answer as it should."""
        own = self._endpoint
        headers = {} if own.key is None else {"Authorization": f"Bearer {own.key}"}
        body = {"model": own.model, "input": text[:TEXT_MAX]}
        url = f"{own.base_url.rstrip('/')}/moderations"
        try:
            answer = httpx2.post(url, json=body, headers=headers, timeout=own.timeout)
            if answer.status_code != _OK or len(answer.content) > _ANSWER_MAX:
                return None
            found = json.loads(answer.content)["results"][0]["categories"]
        except (httpx2.HTTPError, httpx2.InvalidURL, ValueError, LookupError, TypeError,
                RecursionError):  # fmt: skip
            return None
        return found if isinstance(found, Mapping) else None
