"""Propose several changes at once: what was said, the proposals and the decisions, in one commit.

One change can declare a name as `$name`, and the others refer to it. A proposal that cites turns of
one scene, or the scene, belongs to that scene, with its time and place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from typing import Final, TypeAlias

from canonry.canon.canonization.canonize_scene import preview_proposals
from canonry.canon.canonization.decide_proposals import Judging
from canonry.canon.canonization.proposals import (
    StagedContent,
    StagingGuard,
    Suggestion,
    draft_of,
    origin_of,
)
from canonry.canon.judging.candidates import Candidate, in_order, linked
from canonry.canon.judging.contents import Content, EntityContent, read_content, render_content
from canonry.canon.judging.slices import Slice
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Attempt,
    Change,
    commit_change,
    for_its_audience,
    made_before,
)
from canonry.canon.session.lookup import (
    account_of,
    keys_of_evidence,
    opened,
    require_all,
    require_judged,
)
from canonry.canon.session.snippets import QuotedWords, WordsKept, words_kept
from canonry.canon.session.spoken_times import in_words
from canonry.language.reading.reading import tense_of
from canonry.log.commits import ORIGIN, Position, stamped
from canonry.log.entries import Entry, Made, Thing
from canonry.log.items.proposals import Proposal, ProposalDraft
from canonry.log.items.scenes import Scene, Turn
from canonry.values.audience import audience_in
from canonry.values.errors import InvalidInput
from canonry.values.fields import ReadTime, Reference
from canonry.values.ids import ProposalId, Space, numbered_id
from canonry.values.provenance import Authority, EvidenceKind

_StagedClaim: TypeAlias = tuple[ProposalDraft, Content, Scene | None]
"""The draft of a proposal with its parsed content and its scene."""

_PLAYED: Final = frozenset({EvidenceKind.TURN, EvidenceKind.SCENE})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeRequest:
    """Suggestions of one call, with the words that are quoted as evidence of each.

    If it `decides`, the gates decide at once. A suggestion that would overrule canon that it does
    not name gets the authority `lower`. A `dry` call writes nothing.
    """

    suggestions: Sequence[Suggestion]
    words: QuotedWords | None = None
    lower: Authority | None = None
    decides: bool = False
    dry: bool = False


async def propose_changes(
    canon: Canon, caller: Caller, universe_id: str, asked: ProposeRequest
) -> Sequence[Proposal]:
    """Write the words, the proposals and their decisions as one commit.

    The proposals have the order of the suggestions. Those that nobody decides are returned as if
    the gates had decided them.

    Raises:
        InvalidInput: `content.*`, a content does not fit its type; the path is `/claims/<n>`.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    universe = await require_judged(canon, caller, universe_id)
    space = universe.id

    async def prepare(attempt: Attempt) -> Change[Sequence[Proposal]]:
        proposing = _Proposing(
            canon=canon, caller=caller, universe=universe, asked=asked, attempt=attempt
        )
        return await proposing.judged()

    if asked.dry:
        fresh = caller.commit_id(space, canon.identities.fresh)
        attempt = Attempt(commit_id=fresh, position=await canon.ledger.head(space))
        return (await prepare(attempt)).found
    async with canon.service(StagingGuard).lock(canon, space):
        receipt = await commit_change(canon, caller, space, prepare)
    if receipt.found is not None:
        return receipt.found
    # A receipt leaves out what other readers than those of its first entry may know.
    ids = [one.id for one in await made_before(canon, caller, space, ProposalDraft)]
    if asked.decides:
        return await require_all(canon, caller, Proposal, ids)
    return await preview_proposals(canon, caller, ids, while_played=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposing:
    """One attempt to stage suggestions and to judge them on one slice."""

    canon: Canon
    caller: Caller
    universe: Space
    asked: ProposeRequest
    attempt: Attempt

    async def judged(self) -> Change[Sequence[Proposal]]:
        """Return what the call writes, and the proposals after all decisions."""
        canon, space = self.canon, self.universe.id
        said = self.asked.words
        words = WordsKept() if said is None else await words_kept(canon, space, said)
        staged, reads = await self._staged(words)
        new = opened(account_of(self.caller), {}) if self.universe.position == ORIGIN else ()
        made = [Made(thing=one) for one in (*words.made, *(draft for draft, *_ in staged))]
        change = Change(entries=(*new, *made), reads=reads)
        entries, more = await for_its_audience(canon, change, space, self.attempt)
        position, now = Position(self.attempt.position + 1), canon.clock.now()
        born = [stamped(e.thing, position, now) for e in entries if isinstance(e, Made)]
        proposals = [one for one in born if isinstance(one, Proposal)]
        candidates = in_order(
            Candidate(proposal=one, content=content, scene=scene)
            for (_, content, scene), one in zip(staged, proposals, strict=True)
        )
        ids = {one.proposal.id: n for n, one in enumerate(candidates)}
        judging = Judging(
            canon=canon,
            caller=self.caller,
            known=Slice(space=space).extended((), born),
            new_ids={one: partial(numbered_id, self.attempt, n) for one, n in ids.items()},
        )
        decisions = await judging.judge_all(candidates, repeat(position), self.asked.lower)
        seen = await judging.proposals(candidates)
        entries = (*(_as_judged(each, judging.known) for each in entries), *more.entries)
        if self.asked.decides:
            entries = (*entries, *(entry for one in decisions for entry in one.entries))
            reads = reads.union(*(one.reads for one in decisions))
        return Change(
            entries=entries,
            reads=reads | words.reads | more.reads,
            found=[seen.get(one.id, one) for one in proposals],
            narrowed=True,
        )

    async def _staged(self, words: WordsKept) -> tuple[list[_StagedClaim], frozenset[str]]:
        """Return the drafts of the proposals, and the keys that they depend on."""
        canon, space, asked = self.canon, self.universe.id, self.asked.suggestions
        # Lower ids are judged first, so ids follow the order of the suggestions.
        ids = sorted(ProposalId(self.attempt(f"proposal/{n}")) for n in range(len(asked)))
        declared = {
            Reference(name): ids[n]
            for n, one in enumerate(asked)
            if isinstance(name := one.content.get("ref"), str)
        }
        sight = canon.seen_by(self.caller)
        found = dict(await sight.things({e.ref for one in asked for e in one.evidence}))
        scenes = {one.scene_id for one in found.values() if isinstance(one, Turn)} - found.keys()
        found |= await sight.things(scenes)
        staged: list[_StagedClaim] = []
        reads: frozenset[str] = frozenset()
        for n, one in enumerate(asked):
            scene, turn = _brought_up(one, found)
            try:
                content = await self._read(one, scene, declared)
            except InvalidInput as error:
                raise _of_claim(error, n, scene) from error
            path = f"/claims/{n}/evidence"
            reads |= keys_of_evidence(found, one.evidence, space, path=path)
            told = audience_in(one.content.get("audience", "everyone"), path=f"/claims/{n}/for")
            cited = replace(one, evidence=(*one.evidence, *words.evidence))
            place, rendered = origin_of(space, scene, turn), render_content(content)
            draft = draft_of(ids[n], self.caller, place, cited, rendered, audience=told)
            staged.append((draft, content, scene))
        guarded = [
            StagedContent(kind=e.type, scene=e.scene_id, content=e.content, path=f"/claims/{n}")
            for n, (e, *_) in enumerate(staged)
        ]
        await canon.service(StagingGuard).pass_gates(canon, self.caller, space, guarded)
        return staged, reads

    async def _read(
        self, asked: Suggestion, scene: Scene | None, declared: Mapping[Reference, ProposalId]
    ) -> Content:
        limits = self.canon.policy.limits

        def read(times: ReadTime) -> Content:
            return read_content(asked.type, asked.content, limits=limits, times=times)

        own = asked.content.get("statement"), asked.content.get("title")
        quoted = None if self.asked.words is None else self.asked.words.text
        texts = [one for one in (*own, quoted) if isinstance(one, str)]
        toward = next((tense for one in texts if (tense := tense_of(one))), 0)
        place = scene or self.universe
        content = await in_words(self.canon, self.caller, place, read, toward=toward)
        if isinstance(content, EntityContent):
            content = replace(content, ref=None)  # the others refer to its proposal now
        return linked(content, declared)


def _as_judged(entry: Entry, known: Slice) -> Entry:
    """Return the entry with the authority under which its proposal was judged."""
    draft = entry.thing if isinstance(entry, Made) else None
    judged = None if draft is None else known.things.get(draft.id)
    if isinstance(draft, ProposalDraft) and isinstance(judged, Proposal):
        return Made(thing=replace(draft, authority=judged.authority))
    return entry


def _brought_up(asked: Suggestion, played: Mapping[str, Thing]) -> tuple[Scene | None, Turn | None]:
    """Return the scene and turn of a proposal if all its cited turns belong to one scene."""
    cited = [played.get(one.ref) for one in asked.evidence if one.kind in _PLAYED]
    turns = [one for one in cited if isinstance(one, Turn)]
    told = {one.scene_id for one in turns} | {one.id for one in cited if isinstance(one, Scene)}
    scene = played.get(next(iter(told))) if len(told) == 1 else None
    if not isinstance(scene, Scene):
        return None, None
    return scene, max(turns, key=lambda turn: turn.index, default=None)


def _of_claim(error: InvalidInput, number: int, scene: Scene | None) -> InvalidInput:
    """Return the error of one claim among several, without the description of its type."""
    plain = error.__cause__ if isinstance(error.__cause__, InvalidInput) else error
    path = f"/claims/{number}{error.details.get('path', '/content')}"
    message = plain.message.replace("/content/", f"/claims/{number}/content/")
    timeless = {"time.relative-to-nothing": scene}.get(error.code)
    more = {"path": path} if timeless is None else {"path": path, "scene": timeless.title}
    return InvalidInput(error.code, message, **{**error.details, **more})
