"""Sealing: a commit as stored, in a sealed part that is hashed and parts that can be erased.

The sealed bytes hold ids, kinds, instants and, for each payload, a commitment: the SHA-256 of a
salt and the payload. Dropping salt and payload erases what was said; the chain still verifies.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

from canonry.log.canon import ids_of
from canonry.log.commits import Commit, Draft, Position
from canonry.log.encoding import ENCODING_VERSION, decode_entry, encode_entry, kind_of
from canonry.log.entries import Entry, Redacted
from canonry.values.errors import BrokenInvariant
from canonry.values.fields import spread
from canonry.values.ids import CommitId, SpaceId
from canonry.values.json_values import decode_json, encode_json
from canonry.values.moments import Instant
from canonry.values.provenance import Actor

GENESIS: Final = "0" * 64
"""What the first commit of a space has as its previous hash."""

SALT_BYTES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasablePart:
    """What can be erased of one entry."""

    salt: bytes
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A commit as stored; `parts` has one item an entry, None where it was erased."""

    space: SpaceId
    position: Position
    id: CommitId
    recorded_at: Instant
    body: bytes
    hash: str
    parts: tuple[ErasablePart | None, ...]


def seal(
    draft: Draft,
    *,
    position: Position,
    recorded_at: Instant,
    previous: str,
    salts: Sequence[bytes],
    payloads: Sequence[bytes] | None = None,
) -> Sealed:
    """Put `draft` at its place in the chain; one salt of `SALT_BYTES` an entry.

    `payloads` are its entries as `encode_entry` gives them, where they are at hand.
    """
    if payloads is None:
        payloads = [encode_entry(entry) for entry in draft.entries]
    said = zip(salts, payloads, strict=True)
    parts = tuple([ErasablePart(salt=salt, payload=payload) for salt, payload in said])
    told = {"request": draft.request} if draft.request else {}
    body = encode_json(
        {
            **told,
            "actor": [draft.actor.agent_id, draft.actor.agent_type, draft.actor.user],
            "entries": [
                [kind_of(entry), ENCODING_VERSION, ids_of(entry), commitment(part)]
                for entry, part in zip(draft.entries, parts, strict=True)
            ],
            "id": draft.id,
            "position": position,
            "previous": previous,
            "recorded_at": recorded_at,
            "space": draft.space,
            "tool": draft.tool,
        }
    )
    return Sealed(
        space=draft.space,
        position=position,
        id=draft.id,
        recorded_at=recorded_at,
        body=body,
        hash=sha256(body).hexdigest(),
        parts=parts,
    )


def unseal(sealed: Sealed) -> Commit:
    """The commit that was sealed; erased entries come back as `Redacted`."""
    body = decode_json(sealed.body)
    agent_id, agent_type, user = body["actor"]
    return Commit(
        id=sealed.id,
        space=sealed.space,
        position=sealed.position,
        recorded_at=sealed.recorded_at,
        actor=Actor(agent_id=agent_id, agent_type=agent_type, user=user),
        tool=body["tool"],
        request=body.get("request", ""),
        entries=tuple(
            _entry(header, part) for header, part in zip(body["entries"], sealed.parts, strict=True)
        ),
        previous=body["previous"],
        hash=sealed.hash,
    )


def commit_of(draft: Draft, sealed: Sealed, previous: str) -> Commit:
    """The commit just sealed from `draft`, without reading it back."""
    return Commit(
        **spread(draft),
        position=sealed.position,
        recorded_at=sealed.recorded_at,
        previous=previous,
        hash=sealed.hash,
    )


def commitment(part: ErasablePart) -> str:
    """What the sealed bytes say of a payload without revealing it; lower-case hex."""
    return sha256(part.salt + part.payload).hexdigest()


def fault_in(sealed: Sealed, *, position: Position, previous: str) -> str | None:
    """What is wrong with `sealed` at its place in the chain, or None.

    This shows alteration of any stored byte, and gaps. It cannot show that a whole tail was cut
    off: for that, compare the head with one recorded elsewhere.
    """
    if fault := _fault_in_header(sealed):
        return fault
    if sealed.position != position:
        return f"position {position} is missing"
    if decode_json(sealed.body)["previous"] != previous:
        return "the previous hash is not that of the commit before"
    return _fault_in_parts(sealed)


def require_unaltered(sealed: Sealed) -> Sealed:
    """The same commit, if it is what was sealed; how it stands in the chain is not looked at.

    Raises:
        BrokenInvariant: `ledger.altered`.
    """
    if _fault_in_header(sealed) or _fault_in_parts(sealed):
        raise altered()
    return sealed


def altered() -> BrokenInvariant:
    """The error for a commit that is not what was written."""
    message = (
        "a stored commit is not what was written, so the disk may be failing: "
        "`canonry verify` names every one, and `canonry restore` puts a backup in place"
    )
    return BrokenInvariant("ledger.altered", message)


def _fault_in_header(sealed: Sealed) -> str | None:
    if sha256(sealed.body).hexdigest() != sealed.hash:
        return "the sealed bytes do not have the stored hash"
    body: dict[str, Any] = decode_json(sealed.body)
    said = (body["space"], body["position"], body["id"], body["recorded_at"])
    if said != (sealed.space, sealed.position, sealed.id, sealed.recorded_at):
        return "the stored columns differ from the sealed bytes"
    return None


def _fault_in_parts(sealed: Sealed) -> str | None:
    entries = decode_json(sealed.body)["entries"]
    if len(sealed.parts) != len(entries):
        return "the number of payloads is not that of the entries"
    for header, part in zip(entries, sealed.parts, strict=True):
        if part is not None and commitment(part) != header[3]:
            return f"the payload of a {header[0]} does not match its commitment"
    return None


def _entry(header: list[Any], part: ErasablePart | None) -> Entry:
    kind, version, ids, _ = header
    if part is None:
        return Redacted(kind=kind, ids=tuple(ids))
    return decode_entry(kind, version, part.payload)
