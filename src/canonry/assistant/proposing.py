"""The tool `propose`: claims, their evidence and their audience."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from canonry.assistant.claims import (
    CLAIM,
    CLAIMS_MAX,
    UPKEPT,
    Cited,
    ClaimReading,
    briefly,
    evidence_of,
    in_words_of_claims,
    record_claims,
    require_members,
    upkeep_of,
)
from canonry.assistant.desk import (
    CONTRIBUTORS,
    KEEPERS,
    SPACE,
    Desk,
    checked,
    desk_of,
    names,
    takes,
)
from canonry.assistant.rows import Row, cut, reply_schema
from canonry.assistant.telling import keep_text
from canonry.canon.canonization.canonize_scene import canonize_proposals, preview_proposals
from canonry.canon.canonization.decide_proposals import ProposalVerdict
from canonry.canon.canonization.proposals import (
    Suggestion,
    foretell_changes,
    propose_changes,
    require_changes,
)
from canonry.canon.commands.universes import (
    UpkeepAsked,
    accept_upkeep,
    ask_upkeep,
    require_possible,
)
from canonry.canon.judging.gates.kit import ACCEPTED_RULE
from canonry.canon.judging.gates.proposals import DEPENDENCY_ACCEPTED
from canonry.canon.judging.gates.statements import STATEMENT_NEGATED
from canonry.canon.ports.files import FileHint
from canonry.canon.queries.listings import query_snippets
from canonry.canon.queries.names import Mentions, candidate, find_near
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import audience_for, audiences_of, made_before
from canonry.gateway.replies import BOOLEAN, COUNT, OBJECT, TEXT, array, enum
from canonry.gateway.tool import Arguments, Reply, Tool
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import ProposalDraft, ProposalStatus, ids_of
from canonry.log.observing import ids_in
from canonry.records.usecases.files import GivenFile
from canonry.values.audience import EVERYBODY, Audience, audience_in, covers, narrowest
from canonry.values.errors import InvalidInput, NotAllowed
from canonry.values.json_values import encode_json
from canonry.values.provenance import Authority, Evidence, EvidenceKind

_NAMED_MAX: Final = 3
"""The number of pieces of evidence that a hint names."""


async def readers_of_claims(canon: Canon, suggestions: Sequence[Suggestion]) -> list[Audience]:
    """Return the audience of each claim: the one it names, limited to readers of its items.

    A claim that names no audience is also limited to the readers of its evidence.
    """
    found: list[Audience] = []
    for n, asked in enumerate(suggestions):
        told, ids = asked.content.get("audience"), list(ids_in(asked.content))
        if told is None:
            ids += [one.ref for one in asked.evidence]
        said = EVERYBODY if told is None else audience_in(told, path=f"/claims/{n}/for")
        found.append(await audience_for(canon, ids, said))
    return found


async def hints_on_readers(
    canon: Canon, suggestions: Sequence[Suggestion], readers: Sequence[Audience]
) -> list[str]:
    """Return hints on claims with a limited audience, and on evidence with a larger one."""
    cited = {one.ref for asked in suggestions for one in asked.evidence}
    known = await audiences_of(canon, cited) if any(readers) else {}
    hints: list[str] = []
    for n, (asked, audience) in enumerate(zip(suggestions, readers, strict=True)):
        if not audience:
            continue
        if "audience" not in asked.content:
            hints.append(f"Claim {n} has a limited audience, like an item that it names or cites.")
        open_to_more = [
            f"{one} ({'public' if not known.get(one.ref) else 'for more readers'})"
            for one in asked.evidence
            if not covers(audience, known.get(one.ref, EVERYBODY))
        ]
        if open_to_more:
            listed = ", ".join(open_to_more[:_NAMED_MAX])
            hints.append(
                f"Claim {n} has a limited audience, but its evidence has more readers: {listed}. "
                "Quote its words in `said`, or tell them again with `for`."
            )
    return hints


def with_hints(reply: Mapping[str, Any], hints: Sequence[str]) -> Reply:
    """Add these hints to the hint of the reply."""
    own = [reply["hint"]] if "hint" in reply else []
    return {**reply, "hint": " ".join((*own, *hints))} if hints else dict(reply)


_SHOWN: Final = 3
"""The number of unlinked claims that get a hint each."""


async def with_links(
    reading: ClaimReading,
    claims: Sequence[Mapping[str, Any]],
    suggestions: Sequence[Suggestion],
    reply: Row,
) -> Row:
    """Add a hint for claims that link to no entity or have an ambiguous name."""
    hints = [reply["hint"]] if "hint" in reply else []
    open_ones = [
        (_Open(claims[n], suggestions[n].evidence, reply["verdicts"][n].get("id")), mentions)
        for n, mentions in reading.mentions.items()
        if mentions.unclear or not (mentions.found or claims[n].get("who"))
    ]
    hints += [await _hint(reading, *each) for each in open_ones[:_SHOWN]]
    if len(open_ones) > _SHOWN:
        hints.append(f"{len(open_ones) - _SHOWN} more claims are not linked to an entity.")
    return {**reply, "hint": " ".join(hints)} if hints else reply


class _Open(NamedTuple):
    """A claim without a linked entity, its evidence, and the id of the item made of it."""

    claim: Mapping[str, Any]
    evidence: Sequence[Evidence]
    made: str | None

    def linked(self, about: Sequence[str]) -> Mapping[str, Any]:
        """Return the arguments of a call that links the claim and replaces its item."""
        is_fact = self.made is not None and self.claim["kind"] == "fact"
        claim = {**self.claim, "about": about, **({"replaces": self.made} if is_fact else {})}
        evidence = [each.ref for each in self.evidence]
        return {"claims": [claim], **({"evidence": evidence} if evidence else {})}


async def _hint(reading: ClaimReading, unlinked: _Open, mentions: Mentions) -> str:
    says = unlinked.claim["says"].strip()
    if mentions.unclear:
        linked = "no entity: " + ", ".join(
            f"{name} may mean {_told(bearers, ' or ')}"
            for name, bearers in mentions.unclear.items()
        )
        near = next(iter(mentions.unclear.values()))
    else:
        near = await find_near(reading.desk.canon, reading.desk.space.id, says)
        linked = f"no entity; nearest: {_told(near, ', ')}" if near else "no entity"
    if not near:
        return f'"{says}" is linked to {linked}. If it is about one, name it in `about`.'
    others = [bearer or name for name, bearer in mentions.found.items()]
    name, reference = _called(near)[0]
    call = encode_json(unlinked.linked([reference, *others])).decode()
    return f'"{says}" is linked to {linked}. If {name} is meant: propose {call}'


def _called(near: Sequence[Entity | str]) -> list[tuple[str, str]]:
    """Return each name with the reference for another call: an id where names are equal."""
    names = [one.name if isinstance(one, Entity) else one for one in near]
    return [
        (candidate(one), one.id)
        if isinstance(one, Entity) and names.count(name) > 1
        else (name, name)
        for one, name in zip(near, names, strict=True)
    ]


def _told(near: Sequence[Entity | str], between: str) -> str:
    return between.join(name for name, _ in _called(near))


SAID: Final = "What was said"
"""The title of the document that keeps the words given in `said`."""
SAID_TO_FEW: Final = "What was said to few"
"""The title if the claims have a limited audience; each audience has its own document."""
_SAID_ID: Final = "said"
_AGAINST: Final = 5
_LOWER: Final = (Authority.PLAYER, Authority.SYSTEM)
"""Authorities that overrule neither documents nor keepers."""
_DOCUMENTS: Final = frozenset({EvidenceKind.SOURCE, EvidenceKind.SNIPPET})


async def _propose(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desk = await desk_of(canon, caller, arguments, "evidence", "claims/evidence", "claims/of")
    desk.require_writable()
    claims = arguments["claims"]
    for n, claim in enumerate(claims):
        require_members(claim, n)
    if arguments.get("dry_run") and arguments.get("said") is not None:
        message = "A dry run does not record /said. Omit it, or tell the words first and cite them."
        raise InvalidInput("claim.dry-said", message, path="/said")
    if desk.is_account:
        return await record_claims(desk, claims, arguments)
    return await _proposing_told(desk, claims, arguments)


async def _proposing_told(
    desk: Desk, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> Reply:
    canon, caller, space = desk.canon, desk.caller, desk.space.id
    dry, said = bool(arguments.get("dry_run")), arguments.get("said")
    evidence = await evidence_of(desk, arguments.get("evidence", ()), "/evidence")
    cited = Cited(evidence=evidence, authority=_authority(desk, arguments, evidence))
    if any(claim["kind"] in UPKEPT for claim in claims):
        return await _upkeep(desk, claims, cited, said, dry=dry)
    reading = ClaimReading(desk, cited)
    suggestions = await reading.suggestions(claims)
    readers = await readers_of_claims(canon, suggestions)
    hints = await hints_on_readers(canon, suggestions, readers)

    async def replied(reply: Reply) -> Reply:
        return with_hints(await with_links(reading, claims, suggestions, reply), hints)

    kept = await made_before(canon, step(caller, "propose"), space, ProposalDraft)
    with in_words_of_claims(claims):
        if said is not None:
            if not kept:
                await require_changes(canon, caller, space, suggestions)
            words = await _said(desk, said, narrowest(readers))
            suggestions = [replace(e, evidence=(*e.evidence, *words)) for e in suggestions]
            if len(set(readers)) > 1:  # the words have the narrowest audience of the claims
                suggestions = list(map(_for_readers, suggestions, readers))
        if kept:
            return await replied(await _judged(desk, claims, [each.id for each in kept]))
        if "authority" not in arguments and cited.authority not in _LOWER:
            suggestions = await _overruling_nothing(desk, suggestions)
        if dry:
            foretold = await foretell_changes(canon, caller, space, suggestions)
            return await replied(_verdicts(claims, foretold, written=False))
        ids = await propose_changes(canon, step(caller, "propose"), space, suggestions)
    return await replied(await _judged(desk, claims, ids))


async def _judged(desk: Desk, claims: Sequence[Mapping[str, Any]], ids: Sequence[str]) -> Reply:
    """Decide the proposals of a keeper, and preview those of anybody else."""
    canon, caller = desk.canon, desk.caller
    if caller.actor.agent_type in KEEPERS:
        judged = (await canonize_proposals(canon, caller, ids, while_played=True)).verdicts
        return _verdicts(claims, judged, written=True)
    foreseen = await preview_proposals(canon, caller, ids, while_played=True)
    kept = "The proposals wait for a Keeper's decision. The verdicts are a preview."
    return _verdicts(claims, foreseen, written=False) | {"kept": True, "hint": kept}


def _for_readers(asked: Suggestion, readers: Audience) -> Suggestion:
    """Return the claim with an explicit audience."""
    return replace(asked, content={**asked.content, "audience": list(readers) or "everyone"})


def _authority(desk: Desk, arguments: Arguments, evidence: Sequence[Evidence]) -> Authority:
    """Return the given authority, else one that fits the evidence and the caller's role.

    Raises:
        NotAllowed: `authority.claim-refused`, the caller may use none that fits.
    """
    if "authority" in arguments:
        return Authority(arguments["authority"])
    own = Authority.GM if desk.caller.actor.agent_type in KEEPERS else Authority.PLAYER
    written = bool(evidence) and all(each.kind in _DOCUMENTS for each in evidence)
    wanted: list[Authority] = [Authority.SOURCE] if written else []
    for each in (*wanted, own, *_LOWER):
        if each in desk.caller.authorities:
            return each
    known = ", ".join(sorted(desk.caller.authorities)) or "none"
    message = f"No default fits these claims. You may use in /authority: {known}."
    raise NotAllowed("authority.claim-refused", message, path="/authority")


async def _overruling_nothing(desk: Desk, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Lower the default authority of suggestions that would otherwise overrule canon.

    A claim with `replaces` keeps its authority, because it names the fact to overrule.
    """
    lower = next((each for each in _LOWER if each in desk.caller.authorities), None)
    foretold = await foretell_changes(desk.canon, desk.caller, desk.space.id, suggestions)
    return [
        replace(asked, authority=lower) if lower is not None and _undoes(asked, verdict) else asked
        for asked, verdict in zip(suggestions, foretold, strict=True)
    ]


def _undoes(asked: Suggestion, verdict: ProposalVerdict) -> bool:
    """Tell whether accepting the suggestion would overrule canon that it does not name."""
    accepted = verdict.status is ProposalStatus.ACCEPTED
    return accepted and bool(verdict.conflicts) and "replaces" not in asked.content


async def _said(desk: Desk, words: str, readers: Audience) -> tuple[Evidence, ...]:
    """Record the words in the document for `readers` and return their passages as evidence."""
    text = checked(words, desk.canon.policy.limits.snippet, path="/said")
    desk.require_reader(readers, path="/said")
    given = GivenFile(data=text.encode(), hint=FileHint(mime_type="text/plain; charset=utf-8"))
    inner = replace(desk, caller=step(desk.caller, "said"))
    title = SAID_TO_FEW if readers else SAID
    kept = await keep_text(
        inner, desk.space.id, given, title=title, doc_id=_SAID_ID, audience=readers
    )
    page = await query_snippets(
        desk.canon, desk.caller, kept.source_id, limit=kept.snippets, offset=kept.first
    )
    return tuple(Evidence(kind=EvidenceKind.SNIPPET, ref=each.id) for each in page.items)


def _verdicts(
    claims: Sequence[Mapping[str, Any]],
    verdicts: Sequence[ProposalVerdict],
    *,
    written: bool,
) -> Row:
    rows = [_verdict(claim, each, written) for claim, each in zip(claims, verdicts, strict=True)]
    good = sum(row["verdict"] == "accepted" for row in rows)
    reply: Row = {"accepted": good, "of": len(rows), "verdicts": rows}
    if not written:
        reply = {"written": False, **reply}
    if good < len(rows):
        reply["hint"] = f"To see the objections, call why. {_way_out(rows)}"
    return reply


def _way_out(rows: Sequence[Row]) -> str:
    """Return advice for claims that the rules did not accept."""
    rules = {row.get("rule") for row in rows}
    if ACCEPTED_RULE in rules:
        return "Propose the claim again with said or evidence, or decide accept."
    dated = STATEMENT_NEGATED.id in rules
    later = " If the older fact was true until then, give `when`." if dated else ""
    return f"Propose again with authority=gm, which overrules the canon, or decide accept.{later}"


def _verdict(claim: Mapping[str, Any], verdict: ProposalVerdict, written: bool) -> Row:  # noqa: FBT001
    said = briefly(claim)
    status = "needs review" if verdict.needs_review else verdict.status.value
    row: Row = {"claim": cut(said, full=False), "verdict": status}
    if verdict.status is ProposalStatus.ACCEPTED and written:
        row["id"] = verdict.canonical_id or verdict.proposal_id
    elif verdict.status is not ProposalStatus.ACCEPTED:
        row |= {"rule": verdict.rule, "because": verdict.rationale}
        row |= {"proposal": verdict.proposal_id}
    if verdict.rule == DEPENDENCY_ACCEPTED.id:  # the graded items are prerequisites, no objections
        return {**row, "builds_on": [one.id for one in verdict.graded]}
    against = [
        {"id": one.id, "grade": one.grade.value, "because": one.reason} for one in verdict.graded
    ]
    return {**row, **({"against": against[:_AGAINST]} if against else {})}


async def _upkeep(
    desk: Desk,
    claims: Sequence[Mapping[str, Any]],
    cited: Cited,
    said: str | None,
    *,
    dry: bool,
) -> Reply:
    """Carry out corrections, merges and retcons for a keeper; propose them for anybody else."""
    if any(claim["kind"] not in UPKEPT for claim in claims):
        message = f"Put claims of the kinds {', '.join(UPKEPT)} in a separate call."
        raise InvalidInput("claim.mixed", message, path="/claims")
    asking = step(desk.caller, "upkeep")
    kept = await made_before(desk.canon, asking, desk.space.id, ProposalDraft)
    ids: Sequence[str] = [each.id for each in kept]
    if not ids:
        asked = await _asked(desk, claims, cited, said)
        ids = () if dry else await ask_upkeep(desk.canon, asking, desk.space.id, asked)
    decides = desk.caller.actor.agent_type in KEEPERS
    verdict = "accepted" if decides else "needs review"
    rows: list[Row] = [{"claim": briefly(claim), "verdict": verdict} for claim in claims]
    for n, proposal_id in enumerate(ids):
        if decides:
            by, reason = step(desk.caller, str(n)), claims[n].get("says", "")
            rows[n]["id"] = await accept_upkeep(desk.canon, by, proposal_id, reason)
        else:
            rows[n]["proposal"] = proposal_id
    reply: Row = {"accepted": len(rows) if decides else 0, "of": len(rows), "verdicts": rows}
    if dry or not decides:
        reply = {"written": False, **reply}
    return reply if decides else {**reply, "kept": not dry, "hint": "A Keeper must decide on it."}


async def _asked(
    desk: Desk, claims: Sequence[Mapping[str, Any]], cited: Cited, said: str | None
) -> Sequence[UpkeepAsked]:
    """Read corrections, merges and retcons, and refuse those that are impossible now."""
    asked: list[UpkeepAsked] = []
    for n, claim in enumerate(claims):
        upkeep = await upkeep_of(desk, claim, f"/claims/{n}")
        await require_possible(desk.canon, desk.caller, desk.space.id, upkeep)
        own = await evidence_of(desk, claim.get("evidence", ()), f"/claims/{n}/evidence")
        asked.append(
            UpkeepAsked(
                upkeep=upkeep,
                reason=claim.get("says", ""),
                evidence=own or cited.evidence,
                authority=cited.authority,
            )
        )
    about = [*(i for one in asked for i in ids_of(one.upkeep)), *(e.ref for e in _cited_by(asked))]
    readers = await audience_for(desk.canon, about, None)
    words = await _said(desk, said, readers) if said is not None else ()
    return [replace(one, evidence=(*one.evidence, *words)) for one in asked]


def _cited_by(asked: Sequence[UpkeepAsked]) -> Iterator[Evidence]:
    return (each for one in asked for each in one.evidence)


PROPOSE: Final = Tool(
    name="propose",
    title="Propose",
    description=(
        "Propose claims to make them canon, with evidence from tell. Rules judge each at once, "
        "and the verdict lists conflicts. If a fact is wrong, propose the right one with "
        "`replaces`; if it was true until now, the new one with `when`. To correct a field, use "
        "kind correction. A claim can name entities that others of the call add. correction, merge "
        'and retcon need the role Keeper or Solo. Example: {"claims": [{"kind": "fact", "says": '
        '"Hilde owns the lighthouse."}], "evidence": ["Letter from Hilde"]}.'
    ),
    input_schema=takes(
        {
            "claims": array(CLAIM).but(
                minItems=1, maxItems=CLAIMS_MAX, description="1 to 20 claims, in any order."
            )
        },
        {
            "evidence": names("Ids or titles from tell that support every claim."),
            "said": TEXT.but(
                description="The quoted words, instead of evidence; they are recorded and cited."
            ),
            "authority": enum(*Authority).but(
                description="source (a document), gm (overrules the others), player or system; "
                "default: by your role and the evidence."
            ),
            "dry_run": BOOLEAN.but(
                description="true predicts the verdicts and writes nothing; default false."
            ),
            "space": SPACE,
        },
    ),
    output_schema=reply_schema(
        {"accepted": COUNT, "of": COUNT, "verdicts": array(OBJECT)},
        {"written": BOOLEAN, "kept": BOOLEAN},
    ),
    roles=CONTRIBUTORS,
    run=_propose,
    read_only=False,
)
TOOLS: Final = (PROPOSE,)
