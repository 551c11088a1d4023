"""Backings read from arguments: whose word a direct write is, how sure, and on what evidence."""

from collections.abc import Mapping
from typing import Final

from canonry.domain.ids import SpaceId
from canonry.domain.judging.making import Backing
from canonry.domain.log.entries import ThingDraft
from canonry.domain.time import render_instant
from canonry.gateway.tool import Arguments, Reply, Schema
from canonry.toolsets.narrative.replies.schemas import INSTANT, TEXT, UUID, array, obj
from canonry.toolsets.narrative.requests.arguments import authority_of, evidence_of, uuid_of
from canonry.usecases.kernel.commit_change import Receipt
from canonry.usecases.kernel.receipts import the_made

KEEPER: Final = frozenset({"CanonKeeper"})
"""The role that the contract's pattern gives every tool that writes canon directly."""

WARNINGS: Final[Mapping[str, Schema]] = {"warnings": array(TEXT)}


def backing_of(arguments: Arguments) -> Backing:
    """What stands behind a new thing of the universe that the arguments name."""
    return Backing(
        space=SpaceId(uuid_of(arguments, "universe_id")),
        authority=authority_of(arguments),
        confidence=float(arguments["confidence"]),
        evidence=evidence_of(arguments),
    )


def created_schema(id_name: str) -> Schema:
    """The reply of a tool that creates canon."""
    return obj({id_name: UUID, "canon_level": TEXT, "created_at": INSTANT, **WARNINGS})


def created(receipt: Receipt, kind: type[ThingDraft], id_name: str, level: str = "canon") -> Reply:
    """The new thing's id and level, when it was recorded, and what the keeper should know."""
    return {
        id_name: the_made(receipt, kind).id,
        "canon_level": level,
        "created_at": render_instant(receipt.recorded_at),
        "warnings": list(receipt.warnings),
    }
