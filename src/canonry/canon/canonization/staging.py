"""The guard that may refuse proposals before they wait for judgement."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.values.errors import NotSupported
from canonry.values.ids import SpaceId


@dataclass(frozen=True, kw_only=True)
class StagedContent:
    """What is proposed, and where; `path` is the place of its content in the call."""

    kind: str
    scene: str | None
    content: Mapping[str, Any]
    path: str = "/content"


class StagingGuard:
    """Stages every proposal. Put a subclass in as the service `StagingGuard` to refuse some."""

    def lock(self, canon: Canon, space: SpaceId) -> AbstractAsyncContextManager[Any]:  # noqa: ARG002 - a subclass uses them
        """Held from judging until staging, so that equal proposals cannot pass side by side."""
        return nullcontext()

    async def pass_gates(
        self,
        canon: Canon,
        caller: Caller,  # noqa: ARG002 - a subclass uses them
        space: SpaceId,  # noqa: ARG002
        staged: Sequence[StagedContent],  # noqa: ARG002
        *,
        instead_of: str | None = None,  # noqa: ARG002
    ) -> None:
        """Refuse what a gate that the operator has opened refuses; by default none is open.

        A proposal staged `instead_of` another one is not compared with that one.

        Raises:
            InvalidInput: `proposal.unsafe`, a text may not stand.
            Conflict: `proposal.repeated`, the same was staged already.
            Unavailable: `proposal.too-many`, there is no room within the minute.
            NotSupported: `package.missing`, a gate is open but the package `world` is not there.
        """
        if canon.policy.staging.opened:
            message = "policy.staging needs the package canonry.world, which is not installed"
            raise NotSupported("package.missing", message, path="policy.staging")
