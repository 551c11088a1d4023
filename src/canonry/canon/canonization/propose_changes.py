"""Propose several changes at once: what was said, the proposals and the decisions, in one commit.

One change can declare a name as `$name`, and the others refer to it. A proposal that cites turns of
one scene, or the scene, belongs to that scene, with its time and location.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
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
from canonry.canon.judging.candidates import Candidate, link_declared, order_candidates
from canonry.canon.judging.contents import Content, EntityContent, read_content, render_content
from canonry.canon.judging.slices import Slice
from canonry.canon.session import lookup
from canonry.canon.session.caller import Caller
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import (
    Attempt,
    Change,
    commit_change,
    drafts_made_before,
    split_by_audience,
)
from canonry.canon.session.paging import newest_match
from canonry.canon.session.snippets import KeptQuotes, QuotedText, plan_quotes
from canonry.canon.session.spoken_times import read_with_calendar
from canonry.language.reading.reading import tense_of
from canonry.log.commits import ORIGIN, Position, stamp_draft
from canonry.log.entries import Entry, Made, StoredItem
from canonry.log.items.proposals import Proposal, ProposalDraft
from canonry.log.items.scenes import Scene, Turn
from canonry.readmodels.ports.documents import SceneQuery
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
    """Suggestions of one call, with the text that is quoted as evidence of each.

    If it `decides`, the gates decide at once. A suggestion that would overrule canon that it does
    not name gets the authority `lower`. A `dry` call writes nothing.
    """

    suggestions: Sequence[Suggestion]
    quoted: QuotedText | None = None
    lower: Authority | None = None
    decides: bool = False
    dry: bool = False


async def propose_changes(
    canon: Canon, caller: Caller, universe_id: str, asked: ProposeRequest
) -> Sequence[Proposal]:
    """Write the quoted text, the proposals and their decisions as one commit.

    The proposals have the order of the suggestions. Those that nobody decides are returned as if
    the gates had decided them.

    Raises:
        InvalidInput: `content.*`, a content does not fit its type; the path is `/claims/<n>`.
        NotFound: `universe.unknown` or `evidence.unknown`.
        Conflict: `space.foreign`.
        CanonryError: as `StagingGuard.pass_gates`.
    """
    universe = await lookup.require_judged(canon, caller, universe_id)
    space = universe.id

    async def prepare_change(attempt: Attempt) -> Change[Sequence[Proposal]]:
        proposing = _Proposing(
            canon=canon, caller=caller, universe=universe, asked=asked, attempt=attempt
        )
        return await proposing.judge_all()

    if asked.dry:
        fresh = caller.commit_id(space, canon.identities.new_id)
        attempt = Attempt(commit_id=fresh, position=await canon.ledger.head_position(space))
        return (await prepare_change(attempt)).found
    guard, guarded = canon.find_service(StagingGuard), canon.policy.staging.is_enabled
    async with guard.lock_staging(canon, space) if guarded else nullcontext():
        receipt = await commit_change(canon, caller, space, prepare_change)
    if receipt.found is not None:
        return receipt.found
    # A receipt leaves out what other readers than those of its first entry may know.
    ids = [one.id for one in await drafts_made_before(canon, caller, space, ProposalDraft)]
    if asked.decides:
        return await lookup.require_all(canon, caller, Proposal, ids)
    return await preview_proposals(canon, caller, ids, while_played=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Proposing:
    """One attempt to stage suggestions and to judge them on one slice."""

    canon: Canon
    caller: Caller
    universe: Space
    asked: ProposeRequest
    attempt: Attempt

    async def judge_all(self) -> Change[Sequence[Proposal]]:
        """Return what the call writes, and the proposals after all decisions."""
        canon, space = self.canon, self.universe.id
        quoted = self.asked.quoted
        quotes = KeptQuotes() if quoted is None else await plan_quotes(canon, space, quoted)
        staged, reads = await self._stage_claims(quotes)
        new = (
            lookup.opening_entries(lookup.account_of(self.caller), {})
            if self.universe.position == ORIGIN
            else ()
        )
        made = [Made(thing=one) for one in (*quotes.made, *(draft for draft, *_ in staged))]
        change = Change(entries=(*new, *made), reads=reads)
        entries, more = await split_by_audience(canon, change, space, self.attempt)
        position, now = Position(self.attempt.position + 1), canon.clock.now()
        born = [stamp_draft(e.thing, position, now) for e in entries if isinstance(e, Made)]
        proposals = [one for one in born if isinstance(one, Proposal)]
        candidates = order_candidates(
            Candidate(proposal=one, content=content, scene=scene)
            for (_, content, scene), one in zip(staged, proposals, strict=True)
        )
        ids = {one.proposal.id: n for n, one in enumerate(candidates)}
        judging = Judging(
            canon=canon,
            caller=self.caller,
            known=Slice(space=space).with_items((), (*quotes.known, *born)),
            new_ids={one: partial(numbered_id, self.attempt, n) for one, n in ids.items()},
        )
        decisions = await judging.judge_all(candidates, repeat(position), self.asked.lower)
        seen = await judging.proposals_after(candidates)
        entries = (*(_with_judged_authority(e, judging.known) for e in entries), *more.entries)
        if self.asked.decides:
            entries = (*entries, *(entry for one in decisions for entry in one.entries))
            reads = reads.union(*(one.reads for one in decisions))
        return Change(
            entries=entries,
            reads=reads | quotes.reads | more.reads,
            found=[seen.get(one.id, one) for one in proposals],
            narrowed=True,
        )

    async def _stage_claims(self, quotes: KeptQuotes) -> tuple[list[_StagedClaim], frozenset[str]]:
        """Return the drafts of the proposals, and the keys that they depend on."""
        canon, space, asked = self.canon, self.universe.id, self.asked.suggestions
        # Lower ids are judged first, so ids follow the order of the suggestions.
        ids = sorted(ProposalId(self.attempt(f"proposal/{n}")) for n in range(len(asked)))
        declared = {
            Reference(name): ids[n]
            for n, one in enumerate(asked)
            if isinstance(name := one.content.get("ref"), str)
        }
        scope = canon.caller_scope(self.caller)
        found = dict(await scope.items_by_id({e.ref for one in asked for e in one.evidence}))
        scenes = {one.scene_id for one in found.values() if isinstance(one, Turn)} - found.keys()
        found |= await scope.items_by_id(scenes)
        staged: list[_StagedClaim] = []
        reads: frozenset[str] = frozenset()
        for n, one in enumerate(asked):
            scene, turn = _origin_of_turns(one, found)
            try:
                content = await self._read_claim(one, scene, declared)
            except InvalidInput as error:
                known = SceneQuery(spaces=frozenset((space,)))
                last = (await newest_match(canon.documents.scenes, known))[-1:]
                raise _error_of_claim(error, n, scene or next(iter(last), None)) from error
            path = f"/claims/{n}/evidence"
            reads |= lookup.keys_of_evidence(found, one.evidence, space, path=path)
            audience = audience_in(one.content.get("audience", "everyone"), path=f"/claims/{n}/for")
            cited = replace(one, evidence=(*one.evidence, *quotes.evidence))
            origin, rendered = origin_of(space, scene, turn), render_content(content)
            draft = draft_of(ids[n], self.caller, origin, cited, rendered, audience=audience)
            staged.append((draft, content, scene))
        if canon.policy.staging.is_enabled:
            guarded = [
                StagedContent(kind=e.type, scene=e.scene_id, content=e.content, path=f"/claims/{n}")
                for n, (e, *_) in enumerate(staged)
            ]
            await canon.find_service(StagingGuard).pass_gates(canon, self.caller, space, guarded)
        return staged, reads

    async def _read_claim(
        self, asked: Suggestion, scene: Scene | None, declared: Mapping[Reference, ProposalId]
    ) -> Content:
        limits = self.canon.policy.limits

        def read_with_times(times: ReadTime) -> Content:
            return read_content(asked.type, asked.content, limits=limits, times=times)

        own = asked.content.get("statement"), asked.content.get("title")
        quoted = None if self.asked.quoted is None else self.asked.quoted.text
        texts = [one for one in (*own, quoted) if isinstance(one, str)]
        item = scene or self.universe
        content = await read_with_calendar(
            self.canon,
            self.caller,
            item,
            read_with_times,
            tense=lambda: next(filter(None, map(tense_of, texts)), 0),
        )
        if isinstance(content, EntityContent):
            content = replace(content, ref=None)  # the others refer to its proposal now
        return link_declared(content, declared)


def _with_judged_authority(entry: Entry, known: Slice) -> Entry:
    """Return the entry with the authority under which its proposal was judged."""
    draft = entry.thing if isinstance(entry, Made) else None
    judged = None if draft is None else known.items.get(draft.id)
    if isinstance(draft, ProposalDraft) and isinstance(judged, Proposal):
        return Made(thing=replace(draft, authority=judged.authority))
    return entry


def _origin_of_turns(
    asked: Suggestion, played: Mapping[str, StoredItem]
) -> tuple[Scene | None, Turn | None]:
    """Return the scene and turn of a proposal if all its cited turns belong to one scene."""
    cited = [played.get(one.ref) for one in asked.evidence if one.kind in _PLAYED]
    turns = [one for one in cited if isinstance(one, Turn)]
    scene_ids = {e.scene_id for e in turns} | {e.id for e in cited if isinstance(e, Scene)}
    scene = played.get(next(iter(scene_ids))) if len(scene_ids) == 1 else None
    if not isinstance(scene, Scene):
        return None, None
    return scene, max(turns, key=lambda turn: turn.index, default=None)


def _error_of_claim(error: InvalidInput, number: int, scene: Scene | None) -> InvalidInput:
    """Return the error of one claim among several, without the description of its type."""
    plain = error.__cause__ if isinstance(error.__cause__, InvalidInput) else error
    path = f"/claims/{number}{error.details.get('path', '/content')}"
    message = plain.message.replace("/content/", f"/claims/{number}/content/")
    timeless = {"time.relative-to-nothing": scene}.get(error.code)
    more = {"path": path} if timeless is None else {"path": path, "scene": timeless.title}
    return InvalidInput(error.code, message, **{**error.details, **more})
