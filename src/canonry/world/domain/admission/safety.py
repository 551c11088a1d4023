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
from canonry.language.reading.tokens import word_table
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
_PIECE: Final = 4  # shorter pieces make unlike texts alike
_BITS: Final = 1_024  # enough that unlike texts rarely share bits
_STATES: Final = schema.WORDS["states"].split()
_DECISIVE: Final = frozenset((*NEGATIONS, *Direction, *_STATES))
ActionScope = tuple[str, str]
"""The kind of an action, and the scope that it is about."""


@dataclass(frozen=True, slots=True)
class TextFingerprint:
    """Fingerprint of a text: its pieces, their bit mask and the words that must be equal."""

    pieces: frozenset[int]
    decisive: frozenset[str]
    mask: int

    @classmethod
    def of_text(cls, text: str) -> "TextFingerprint":
        """Return the fingerprint of a text."""
        plain = f" {plain_statement(text)} "
        last = max(1, len(plain) - _PIECE + 1)
        pieces = frozenset(crc32(plain[at : at + _PIECE].encode()) for at in range(last))
        mask = 0
        for piece in pieces:
            mask |= 1 << piece % _BITS
        numbered = (w for w in plain.split() if number_of(w, word_table("en")) is not None)
        decisive = {*numbered, *_DECISIVE.intersection(plain.split())}
        return cls(pieces, frozenset(decisive), mask)


def text_similarity(one: TextFingerprint, other: TextFingerprint) -> float:
    """Return the similarity of two texts, 0 to 1; 0 if a decisive word differs."""
    if one.decisive != other.decisive:
        return 0.0
    common = len(one.pieces & other.pieces)
    return common / (len(one.pieces) + len(other.pieces) - common)


def compared_text(action: schema.Action) -> str | None:
    """The text by which an action is told apart from others; None for one that may be repeated."""
    template = schema.COMPARED.get(action.kind)
    own = msgspec.structs.asdict(action.params)
    return template and template.format_map({name: value or "" for name, value in own.items()})


def digest_value(value: Any) -> str:
    """Return a hash that recognises the same value when it is sent again."""
    return sha256(canonical_json(value)).hexdigest()


def digest_content(proposed: schema.ReadProposal) -> str:
    """Return a hash of the proposed content, without ids and times."""
    envelope = proposed.envelope
    parts = [proposed.player, _plain_json(envelope.actor), _plain_json(envelope.generation)]
    return digest_value([*parts, *map(_compared_values, proposed.actions)])


def action_digests(proposed: schema.ReadProposal) -> tuple[str, ...]:
    """Return a hash for each action that is compared by its content."""
    return tuple(
        digest_value(_compared_values(action))
        for action in proposed.actions
        if compared_text(action) is not None
    )


def _compared_values(action: schema.Action) -> list[Any]:
    params = {
        name: plain_statement(value) if isinstance(value, str) else value
        for name, value in _plain_json(action.params).items()
    }
    return [action.kind, ":".join(action.scope), params]


def _plain_json(value: Any) -> Any:
    return decode_json(encode_json(value))


@dataclass(slots=True, eq=False)
class RecentTexts:
    """The texts that were admitted lately, by where and by what must not differ."""

    _there: dict[
        tuple[ActionScope, frozenset[str]], list[tuple[int, int, str, TextFingerprint]]
    ] = field(default_factory=dict)

    def add_text(self, proposal: str, scope: ActionScope, fingerprint: TextFingerprint) -> None:
        """Remember a text."""
        one = (fingerprint.mask, len(fingerprint.pieces), proposal, fingerprint)
        self._there.setdefault((scope, fingerprint.decisive), []).append(one)

    def drop_text(self, proposal: str, scope: ActionScope, fingerprint: TextFingerprint) -> None:
        """Forget a text."""
        key = (scope, fingerprint.decisive)
        left = [each for each in self._there.get(key, ()) if each[2:] != (proposal, fingerprint)]
        if left:
            self._there[key] = left
        else:
            self._there.pop(key, None)

    def nearest_proposal(
        self, scope: ActionScope, fingerprint: TextFingerprint
    ) -> tuple[str, float] | None:
        """The proposal whose text is most alike, from `NEAR` on.

        Texts have no more pieces in common than bits, and those pieces that share a bit.
        """
        mask, size = fingerprint.mask, len(fingerprint.pieces)
        sharing = size - mask.bit_count()
        alike = [
            (text_similarity(fingerprint, other), proposal)
            for their, count, proposal, other in self._there.get((scope, fingerprint.decisive), ())
            if (mask & their).bit_count() + sharing >= _COMMON * (size + count)
        ]
        best = max(alike, default=(0.0, ""))
        return (best[1], best[0]) if best[0] >= NEAR else None


_COMMON: Final = NEAR / (1 + NEAR) - 1e-9
"""Of all their pieces, so many times two have in common what are as alike as `NEAR`."""


def text_fingerprints(
    proposed: schema.ReadProposal,
) -> Iterator[tuple[int, ActionScope, TextFingerprint]]:
    """Each text of a proposal that is compared with others, and where it is said."""
    for number, action in enumerate(proposed.actions):
        text = compared_text(action)
        if text:
            yield number, (action.kind, ":".join(action.scope)), TextFingerprint.of_text(text)


def reject_similar(proposed: schema.ReadProposal, lately: RecentTexts) -> schema.Rejection | None:
    """The refusal of the first text that was as good as said before."""
    for number, scope, fingerprint in text_fingerprints(proposed):
        nearest = lately.nearest_proposal(scope, fingerprint)
        if nearest is not None:
            proposal, share = nearest
            reason = f"Proposal {proposal} has nearly the same text there (likeness {share:.2f})."
            return schema.make_rejection(
                "duplication.near", reason, path=f"/proposedActions/{number}/params"
            )
    return None


_TEXT_FIELDS: Final = tuple(schema.WORDS["told"].split())


def texts_in(params: schema.Params) -> Iterator[tuple[str, str]]:
    """Every text of an action that would be told, with the field that it is in."""
    for name in _TEXT_FIELDS:
        value = getattr(params, name, None)
        if isinstance(value, str):
            yield name, value
        elif value:
            yield from ((name, each) for each in value)


def reject_flagged(path: str, categories: Sequence[str]) -> schema.Rejection | None:
    """The refusal of a text that falls into categories."""
    if not categories:
        return None
    reason = f"The text is flagged as {', '.join(categories)}."
    return schema.make_rejection(f"safety.{categories[0]}", reason, path=path)


def reject_unsafe(
    actions: Sequence[schema.Action], categories_of: Callable[[str], Sequence[str]]
) -> schema.Rejection | None:
    """The refusal of the first text that is flagged."""
    for number, action in enumerate(actions):
        for field_name, text in texts_in(action.params):
            name = "layerContent" if field_name == "layer_content" else field_name
            path = f"/proposedActions/{number}/params/{name}"
            if (refused := reject_flagged(path, categories_of(text))) is not None:
                return refused
    return None


def reject_unreplayable(
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
        return schema.make_rejection("replay.unknown-template", reason, path=f"{path}templateName")
    if generation.template_hash != template.content_hash:
        reason = f"The template {named} has another hash."
        return schema.make_rejection("replay.other-hash", reason, path=f"{path}templateHash")
    wrong = wrong_parameters(template, generation.parameters)
    if wrong is not None:
        return schema.make_rejection("replay.parameters", wrong, path=f"{path}parameters")
    if not gave_out(generation.context_hash):
        reason = "This server has not given out a context with this hash recently."
        return schema.make_rejection("replay.unknown-context", reason, path=f"{path}contextHash")
    return None


MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
_MILLISECOND: Final = SECOND // 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Times and token counts of admitted proposals, earliest first."""

    instants: list[Instant]
    tokens: list[int]


def reject_over_budget(
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
            return _retry_later(rule, reason, free - now)
    return None if tokens == 0 else _reject_over_tokens(mine, tokens, now, limits.tokens_an_hour)


def _reject_over_tokens(
    mine: Spent, tokens: int, now: Instant, most: int
) -> schema.Rejection | None:
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
    return _retry_later("rate.tokens", reason, wait)


def _retry_later(rule: str, reason: str, wait: int) -> schema.Rejection:
    return schema.make_rejection(
        rule, reason, path="", retry_after_ms=max(1, -(-wait // _MILLISECOND))
    )


# Proposals of the narrative before the gates. Of a content only what has several words is text
# that may be said otherwise. All the rest, such as ids, numbers and whether a tag is added or
# removed, has to be the same for two to be alike.

_UNLIMITED: Final = 1 << 62


@dataclass(frozen=True, kw_only=True)
class ComparedContent(StagedContent):
    """Staged content with the hashes and texts that comparisons use."""

    @classmethod
    def from_staged(cls, staged: StagedContent) -> Self:
        """The same, to be compared."""
        return cls(kind=staged.kind, scene=staged.scene, content=staged.content, path=staged.path)

    @cached_property
    def content_hash(self) -> str:
        """Hash of the whole content."""
        return digest_value([self.kind, self.scene, self.content])

    @cached_property
    def fixed_hash(self) -> str:
        """Hash of the values that are not texts and of the texts' positions."""
        values_by_path = values_in(self.content, "")
        values = [(path, None if _is_text(value) else value) for path, value in values_by_path]
        return digest_value([self.kind, self.scene, values])

    @cached_property
    def text_fingerprint(self) -> TextFingerprint | None:
        """Fingerprint of the texts."""
        texts = [value for _, value in values_in(self.content, "") if _is_text(value)]
        return TextFingerprint.of_text(" ".join(texts)) if texts else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedBefore:
    """A proposal that was staged before; `stands`: nobody rejected it."""

    id: str
    by: str
    at: Instant
    stands: bool
    content: ComparedContent


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


def reject_repeated(
    content: ComparedContent, earlier: Sequence[StagedBefore]
) -> schema.Rejection | None:
    """Gate 4: the refusal of what was staged already, word by word or nearly so."""
    standing = [each for each in earlier if each.stands]
    for each in standing:
        if each.content.content_hash == content.content_hash:
            reason = f"The same content was already staged as proposal {each.id}."
            return schema.make_rejection("duplication.repeated", reason, path=content.path)
    for each in standing:
        other = (
            each.content.text_fingerprint if each.content.fixed_hash == content.fixed_hash else None
        )
        if content.text_fingerprint is None or other is None:
            continue
        share = text_similarity(content.text_fingerprint, other)
        if share >= NEAR:
            reason = f"Proposal {each.id} has nearly the same text (likeness {share:.2f})."
            return schema.make_rejection("duplication.near", reason, path=content.path)
    return None


def reject_too_many(
    by: str, earlier: Sequence[StagedBefore], now: Instant, gates: StagingGates
) -> schema.Rejection | None:
    """Gate 6: refuse proposals beyond the rates of an agent or of all agents."""
    limits = AdmissionLimits(
        player_a_minute=gates.agent_a_minute or _UNLIMITED,
        world_a_minute=gates.universe_a_minute or _UNLIMITED,
    )
    mine = [each.at for each in earlier if each.by == by]
    return reject_over_budget(
        Spent(instants=mine, tokens=[]), [each.at for each in earlier], 0, now, limits
    )


def passed_gates(gates: StagingGates, rejection: schema.Rejection) -> tuple[schema.GateName, ...]:
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
