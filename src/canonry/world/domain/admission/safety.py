"""Gates on safety, replay, duplication and budgets, for envelopes and for what is staged."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Self
from zlib import crc32

import msgspec

from canonry.canon.canonization.proposals import StagedContent
from canonry.language.reading.figures import number_of
from canonry.language.reading.tokens import language
from canonry.language.texts.english import NEGATIONS
from canonry.language.texts.sentences import plain_statement
from canonry.readmodels.edges import Direction
from canonry.values.json_values import canonical_json, decode_json, encode_json
from canonry.values.moments import SECOND, Instant
from canonry.values.policy import AdmissionLimits, StagingGates
from canonry.world.domain.admission import schema
from canonry.world.domain.prompts.templates import find_template, wrong_parameters

# Gate 4, duplication. Likeness is the share of four-letter pieces that two texts have in common.
# `NEAR` was chosen on labelled pairs, which `tests/domain/world/admission` holds: from there on
# texts are told apart only by chance, unless they differ in a number, a denial, a direction or the
# state of something.

NEAR: Final = 0.7
_PIECE: Final = 4
_BITS: Final = 1_024
_STATES: Final = schema.WORDS["states"].split()
_DECISIVE: Final = frozenset((*NEGATIONS, *Direction, *_STATES))
ProposedPlace = tuple[str, str]
"""The kind of an action, and the scope that it is about."""


@dataclass(frozen=True, slots=True)
class SaidBefore:
    """Fingerprint of a text: its pieces, their bit mask and the words that must be equal."""

    pieces: frozenset[int]
    decisive: frozenset[str]
    mask: int

    @classmethod
    def of(cls, text: str) -> "SaidBefore":
        """Return the fingerprint of a text."""
        plain = f" {plain_statement(text)} "
        last = max(1, len(plain) - _PIECE + 1)
        pieces = frozenset(crc32(plain[at : at + _PIECE].encode()) for at in range(last))
        mask = 0
        for piece in pieces:
            mask |= 1 << piece % _BITS
        numbered = (w for w in plain.split() if number_of(w, language("en")) is not None)
        decisive = {*numbered, *_DECISIVE.intersection(plain.split())}
        return cls(pieces, frozenset(decisive), mask)


def likeness(one: SaidBefore, other: SaidBefore) -> float:
    """Return the similarity of two texts, 0 to 1; 0 if a decisive word differs."""
    if one.decisive != other.decisive:
        return 0.0
    common = len(one.pieces & other.pieces)
    return common / (len(one.pieces) + len(other.pieces) - common)


def text_of(action: schema.Action) -> str | None:
    """The text by which an action is told apart from others; None for one that may be repeated."""
    told = schema.COMPARED.get(action.kind)
    own = msgspec.structs.asdict(action.params)
    return told and told.format_map({name: value or "" for name, value in own.items()})


def digest(value: Any) -> str:
    """Return a hash that recognises the same value when it is sent again."""
    return sha256(canonical_json(value)).hexdigest()


def content_of(proposed: schema.Proposed) -> str:
    """Return a hash of the proposed content, without ids and times."""
    envelope = proposed.envelope
    told = [proposed.player, _plain(envelope.actor), _plain(envelope.generation)]
    return digest([*told, *map(_told, proposed.actions)])


def action_digests(proposed: schema.Proposed) -> tuple[str, ...]:
    """Return a hash for each action that is compared by its content."""
    return tuple(
        digest(_told(action)) for action in proposed.actions if text_of(action) is not None
    )


def _told(action: schema.Action) -> list[Any]:
    params = {
        name: plain_statement(value) if isinstance(value, str) else value
        for name, value in _plain(action.params).items()
    }
    return [action.kind, ":".join(action.scope), params]


def _plain(value: Any) -> Any:
    return decode_json(encode_json(value))


@dataclass(slots=True, eq=False)
class SaidLately:
    """The texts that were admitted lately, by where and by what must not differ."""

    _there: dict[tuple[ProposedPlace, frozenset[str]], list[tuple[int, int, str, SaidBefore]]] = (
        field(default_factory=dict)
    )

    def add(self, proposal: str, place: ProposedPlace, said: SaidBefore) -> None:
        """Remember a text."""
        one = (said.mask, len(said.pieces), proposal, said)
        self._there.setdefault((place, said.decisive), []).append(one)

    def drop(self, proposal: str, place: ProposedPlace, said: SaidBefore) -> None:
        """Forget a text."""
        key = (place, said.decisive)
        left = [each for each in self._there.get(key, ()) if each[2:] != (proposal, said)]
        if left:
            self._there[key] = left
        else:
            self._there.pop(key, None)

    def nearest(self, place: ProposedPlace, said: SaidBefore) -> tuple[str, float] | None:
        """The proposal whose text is most alike, from `NEAR` on.

        Texts have no more pieces in common than bits, and those pieces that share a bit.
        """
        mask, size = said.mask, len(said.pieces)
        sharing = size - mask.bit_count()
        alike = [
            (likeness(said, other), proposal)
            for their, count, proposal, other in self._there.get((place, said.decisive), ())
            if (mask & their).bit_count() + sharing >= _COMMON * (size + count)
        ]
        best = max(alike, default=(0.0, ""))
        return (best[1], best[0]) if best[0] >= NEAR else None


_COMMON: Final = NEAR / (1 + NEAR) - 1e-9
"""Of all their pieces, so many times two have in common what are as alike as `NEAR`."""


def places_said(proposed: schema.Proposed) -> Iterator[tuple[int, ProposedPlace, SaidBefore]]:
    """Each text of a proposal that is compared with others, and where it is said."""
    for number, action in enumerate(proposed.actions):
        text = text_of(action)
        if text:
            yield number, (action.kind, ":".join(action.scope)), SaidBefore.of(text)


def too_alike(proposed: schema.Proposed, lately: SaidLately) -> schema.Rejection | None:
    """The refusal of the first text that was as good as said before."""
    for number, place, said in places_said(proposed):
        nearest = lately.nearest(place, said)
        if nearest is not None:
            proposal, share = nearest
            reason = f"Proposal {proposal} has nearly the same text there (likeness {share:.2f})."
            return schema.refusal(
                "duplication.near", reason, path=f"/proposedActions/{number}/params"
            )
    return None


_TOLD: Final = tuple(schema.WORDS["told"].split())


def told_texts(params: schema.Params) -> Iterator[tuple[str, str]]:
    """Every text of an action that would be told, with the field that it is in."""
    for name in _TOLD:
        value = getattr(params, name, None)
        if isinstance(value, str):
            yield name, value
        elif value:
            yield from ((name, each) for each in value)


def flagged(place: str, categories: Sequence[str]) -> schema.Rejection | None:
    """The refusal of a text that falls into categories."""
    if not categories:
        return None
    reason = f"The text is flagged as {', '.join(categories)}."
    return schema.refusal(f"safety.{categories[0]}", reason, path=place)


def unsafe(
    actions: Sequence[schema.Action], categories_of: Callable[[str], Sequence[str]]
) -> schema.Rejection | None:
    """The refusal of the first text that is flagged."""
    for number, action in enumerate(actions):
        for told, text in told_texts(action.params):
            name = "layerContent" if told == "layer_content" else told
            path = f"/proposedActions/{number}/params/{name}"
            if (refused := flagged(path, categories_of(text))) is not None:
                return refused
    return None


def not_replayable(
    generation: schema.Generation | None, gave_out: Callable[[str], bool]
) -> schema.Rejection | None:
    """Why the prompt cannot be had again; `gave_out` knows the hashes of contexts told."""
    if generation is None:
        return None
    path = "/generation/"
    named = f"{generation.template_name} {generation.template_version}"
    template = find_template(generation.template_name, generation.template_version)
    if template is None:
        reason = f"There is no template {named}."
        return schema.refusal("replay.unknown-template", reason, path=f"{path}templateName")
    if generation.template_hash != template.hash:
        reason = f"The template {named} has another hash."
        return schema.refusal("replay.other-hash", reason, path=f"{path}templateHash")
    wrong = wrong_parameters(template, generation.parameters)
    if wrong is not None:
        return schema.refusal("replay.parameters", wrong, path=f"{path}parameters")
    if not gave_out(generation.context_hash):
        reason = "This server has not given out a context with this hash recently."
        return schema.refusal("replay.unknown-context", reason, path=f"{path}contextHash")
    return None


MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
_MILLISECOND: Final = SECOND // 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Times and token counts of admitted proposals, earliest first."""

    instants: list[Instant]
    tokens: list[int]


def over_budget(
    mine: Spent, world: Sequence[Instant], tokens: int, now: Instant, limits: AdmissionLimits
) -> schema.Rejection | None:
    """The refusal of what goes beyond a window; `mine` is the player's, `world` everybody's."""
    for rule, instants, most in (
        ("rate.player", mine.instants, limits.player_a_minute),
        ("rate.world", world, limits.world_a_minute),
    ):
        since = bisect_right(instants, now - MINUTE)
        if len(instants) - since >= most:
            free = instants[len(instants) - most] + MINUTE
            reason = f"{most} proposals, the limit, were admitted within a minute."
            return _later(rule, reason, free - now)
    return None if tokens == 0 else _tokens(mine, tokens, now, limits.tokens_an_hour)


def _tokens(mine: Spent, tokens: int, now: Instant, most: int) -> schema.Rejection | None:
    since = bisect_right(mine.instants, now - HOUR)
    spent = sum(mine.tokens[since:])
    if spent + tokens <= most:
        return None
    wait = 0
    for at, each in zip(mine.instants[since:], mine.tokens[since:], strict=True):
        spent -= each
        wait = at + HOUR - now
        if spent + tokens <= most:
            break
    reason = f"These {tokens} tokens would exceed the limit of {most} an hour."
    return _later("rate.tokens", reason, wait)


def _later(rule: str, reason: str, wait: int) -> schema.Rejection:
    return schema.refusal(rule, reason, path="", retry_after_ms=max(1, -(-wait // _MILLISECOND)))


# Proposals of the narrative before the gates. Of a content only what has several words is text
# that may be said otherwise. All the rest, such as ids, numbers and whether a tag is added or
# removed, has to be the same for two to be alike.

_UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, kw_only=True)
class ComparedContent(StagedContent):
    """Staged content with the hashes and texts that comparisons use."""

    @classmethod
    def of(cls, staged: StagedContent) -> Self:
        """The same, to be compared."""
        return cls(kind=staged.kind, scene=staged.scene, content=staged.content, path=staged.path)

    @cached_property
    def whole(self) -> str:
        """Hash of the whole content."""
        return digest([self.kind, self.scene, self.content])

    @cached_property
    def fixed(self) -> str:
        """Hash of the values that are not texts and of the texts' positions."""
        told = values_in(self.content, "")
        values = [(path, None if _is_text(value) else value) for path, value in told]
        return digest([self.kind, self.scene, values])

    @cached_property
    def said(self) -> SaidBefore | None:
        """Fingerprint of the texts."""
        texts = [value for _, value in values_in(self.content, "") if _is_text(value)]
        return SaidBefore.of(" ".join(texts)) if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBefore:
    """A proposal that was staged before; `stands`: nobody rejected it."""

    id: str
    by: str
    at: Instant
    stands: bool
    told: ComparedContent


def values_in(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Each value that holds no others, with its place."""
    match value:
        case Mapping():
            for key, each in value.items():
                yield from values_in(each, f"{path}/{key}")
        case list() | tuple():
            for number, each in enumerate(value):
                yield from values_in(each, f"{path}/{number}")
        case _:
            yield path, value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value.split()) > 1


def repeated(told: ComparedContent, earlier: Sequence[StagedBefore]) -> schema.Rejection | None:
    """Gate 4: the refusal of what was staged already, word by word or nearly so."""
    standing = [each for each in earlier if each.stands]
    for each in standing:
        if each.told.whole == told.whole:
            reason = f"The same content was already staged as proposal {each.id}."
            return schema.refusal("duplication.repeated", reason, path=told.path)
    for each in standing:
        other = each.told.said if each.told.fixed == told.fixed else None
        if told.said is None or other is None:
            continue
        share = likeness(told.said, other)
        if share >= NEAR:
            reason = f"Proposal {each.id} has nearly the same text (likeness {share:.2f})."
            return schema.refusal("duplication.near", reason, path=told.path)
    return None


def too_many(
    by: str, earlier: Sequence[StagedBefore], now: Instant, gates: StagingGates
) -> schema.Rejection | None:
    """Gate 6: the refusal of what goes beyond the windows of an agent or of all of them."""
    limits = AdmissionLimits(
        player_a_minute=gates.agent_a_minute or _UNLIMITED,
        world_a_minute=gates.universe_a_minute or _UNLIMITED,
    )
    mine = [each.at for each in earlier if each.by == by]
    return over_budget(
        Spent(instants=mine, tokens=[]), [each.at for each in earlier], 0, now, limits
    )


def passed_of(gates: StagingGates, rejection: schema.Rejection) -> tuple[schema.GateName, ...]:
    """The gates that are on and were passed before this one refused."""
    rate = bool(gates.agent_a_minute or gates.universe_a_minute)
    on = {
        schema.GateName.SCHEMA: True,
        schema.GateName.SAFETY: gates.safety,
        schema.GateName.DUPLICATION: gates.duplication,
        schema.GateName.RATE: rate,
    }
    order = [gate for gate, works in on.items() if works]
    return tuple(order[: order.index(rejection.gate)])
