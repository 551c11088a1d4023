"""The tool `propose`: claims, their evidence and their audience."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from canonry.assistant.aliases import claim_by_kind
from canonry.assistant.claims import (
    KINDS,
    UPKEPT,
    Cited,
    ClaimReading,
    briefly,
    evidence_of,
    in_numbers_of_claims,
    in_short,
    in_words_of_claims,
    is_entity,
    is_recorded,
    record_claims,
    require_members,
    restated,
    upkeep_of,
    values_corrected,
)
from canonry.assistant.desk import CONTRIBUTORS, KEEPERS, PRIVATE, Desk, desk_of, is_owner
from canonry.assistant.disputing import with_sayers
from canonry.assistant.reviewing import judge_waiting, outcomes_of
from canonry.assistant.rows import Row, cut, filled, successions_in
from canonry.assistant.tools import canon_tool
from canonry.assistant.undoing import what_items_say
from canonry.assistant.upkeep import accept_upkeep, ask_upkeep, require_possible
from canonry.canon.canonization.decide_proposals import KNOWN, ProposalVerdict, verdict_on
from canonry.canon.canonization.proposals import Suggestion
from canonry.canon.canonization.propose_changes import ProposeRequest, propose_changes
from canonry.canon.judging.gates.kit import ACCEPTED_RULE
from canonry.canon.judging.gates.proposals import dependency_accepted
from canonry.canon.judging.gates.statements import (
    SUPERSEDED,
    replacement_outranks,
    statement_negated,
)
from canonry.canon.judging.gates.states import entity_known
from canonry.canon.queries.names import Mentions, candidate, find_near
from canonry.canon.session.caller import Caller, step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import audience_for, audiences_of, made_before
from canonry.canon.session.paging import newest_match
from canonry.canon.session.snippets import SAID_TITLE, QuotedWords, keep_words
from canonry.canon.session.what_holds import is_current
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.language.reading.tokens import language
from canonry.language.texts.stems import is_part_of, words_of_name
from canonry.log.items.entities import Entity
from canonry.log.items.proposals import Grade, Proposal, ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import Speaker, Turn
from canonry.log.items.sources import Source
from canonry.log.observing import ids_in
from canonry.readmodels.ports.state import FactQuery
from canonry.readmodels.ports.view import PAGE_MAX
from canonry.values.audience import EVERYBODY, Audience, audience_in, covers, narrowest
from canonry.values.errors import CanonryError, InvalidInput, NotAllowed, NotFound, NotSupported
from canonry.values.json_values import encode_json, folded
from canonry.values.provenance import Authority, CanonLevel, Evidence, EvidenceKind

_NAMED_MAX: Final = 3
"""The number of pieces of evidence that a hint names."""


async def readers_of_claims(canon: Canon, suggestions: Sequence[Suggestion]) -> list[Audience]:
    """Return the audience of each claim: the one it names, limited to readers of its items.

    A claim that names no audience is also limited to the readers of its evidence.
    """
    about: list[tuple[Audience, list[str]]] = []
    for n, asked in enumerate(suggestions):
        told, ids = asked.content.get("audience"), list(ids_in(asked.content))
        if told is None:
            ids += [one.ref for one in asked.evidence]
        about.append((audience_in(told or "everyone", path=f"/claims/{n}/for"), ids))
    known: Mapping[str, Audience] = {}
    if await canon.store_of_all.state.compartments():
        known = await audiences_of(canon, {one for _, ids in about for one in ids})
    return [narrowest((told, *(known.get(i, EVERYBODY) for i in ids))) for told, ids in about]


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


_SHOWN: Final = 3
"""The number of unlinked claims that get a hint each."""


async def hints_on_links(
    reading: ClaimReading,
    claims: Sequence[Mapping[str, Any]],
    evidence: Sequence[Sequence[Evidence]],
    rows: Sequence[Row],
) -> list[str]:
    """Return hints on claims that link to no entity or have an ambiguous name."""
    open_ones = [
        (_Open(claims[n], evidence[n], rows[n].get("id")), mentions)
        for n, mentions in reading.mentions.items()
        if mentions.unclear
        or not (mentions.found or claims[n].get("who") or claims[n].get("where"))
    ]
    hints = [await _hint(reading, *each) for each in open_ones[:_SHOWN]]
    if len(open_ones) > _SHOWN:
        hints.append(f"{len(open_ones) - _SHOWN} more claims are not linked to an entity.")
    return hints


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


SAID_TO_FEW: Final = "What was said to few"
"""The title if the claims have a limited audience; each audience has its own document."""
_AGAINST: Final = 5
_LOWER: Final = (Authority.PLAYER, Authority.SYSTEM)
"""Authorities that overrule neither documents nor keepers."""
_DOCUMENTS: Final = frozenset({EvidenceKind.SOURCE, EvidenceKind.SNIPPET})


async def _propose(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    desk = await desk_of(canon, caller, arguments, "evidence", "claims/evidence", "claims/of")
    desk.require_writable()
    claims = [claim_by_kind(each) for each in arguments["claims"]]
    for n, claim in enumerate(claims):
        require_members(claim, n)
    await _name_documents(desk, claims)
    judge = _claim_in_account if desk.is_account else _proposing_told
    while True:  # each turn adds an entity for a document that claims name as one
        try:
            reply = await with_sayers(desk, await judge(desk, claims, arguments))
            return await _in_words(desk, reply, len(arguments["claims"]))
        except (NotFound, InvalidInput) as error:
            found = await _document_meant(desk, claims, error)
            if found is None or len(claims) > len(arguments["claims"]) + _NAMED_MAX:
                raise
            claims.append({"kind": "entity", "name": found.title, "type": "document"})
            claims[-1]["evidence"] = [found.id]


async def _in_words(desk: Desk, reply: Row, asked: int) -> Row:
    """Return the reply about the caller's own claims, with a sentence on what became of them."""
    verdicts, added = reply["verdicts"][:asked], reply["verdicts"][asked:]
    good = sum(row["verdict"] == "accepted" for row in verdicts)
    done = "Would accept" if reply.get("written") is False else "Accepted"
    known: Sequence[str] = reply.pop("known", ())
    note = reply.get("note") or ("" if len(known) == asked else f"{done} {good} of {asked}.")
    told = f"Known already: {await what_items_say(desk, known)}." if known else ""
    note = " ".join(filter(None, (note, told)))
    note += f" Added as documents: {', '.join(row['claim'] for row in added)}." if added else ""
    note += await _doubtful(desk, [row["id"] for row in verdicts if "id" in row])
    counts = {"accepted": good, "of": asked, "verdicts": verdicts}
    return {"note": note} | reply | {"note": note} | counts


async def _document_meant(
    desk: Desk, claims: Sequence[Mapping[str, Any]], error: CanonryError
) -> Source | None:
    """Return the document that a claim names where it needs an entity, by the error's path."""
    found = _PLACE.fullmatch(error.details.get("path", ""))
    if found is None or error.code not in {"name.unknown", "name.other-kind"}:
        return None
    number, member, place = found.groups()
    value = claims[int(number)][member]
    path = found[0]
    try:
        thing = await desk.thing(value[int(place)] if place else value, Source, path=path)
    except (NotFound, InvalidInput):
        return None
    known = {folded(each["name"]) for each in claims if each["kind"] == "entity"}
    return thing if isinstance(thing, Source) and folded(thing.title) not in known else None


async def _name_documents(desk: Desk, claims: Sequence[dict[str, Any]]) -> None:
    """Link a claim that says which document supersedes which, so that what one says can end."""
    verbs = language("en").verbs.items()
    telling = [verb[:-1] for verb, rules in verbs if any(rule[0] in SUPERSEDED for rule in rules)]
    for claim in (one for one in claims if one["kind"] == "fact" and "about" not in one):
        says = claim["says"].casefold()
        documents = await _documents(desk) if any(verb in says for verb in telling) else ()
        titles = [one.title for one in documents if one.title]
        named = [each for each in titles if is_part_of(words_of_name(each), words_of_name(says))]
        claim.update({"about": named} if named else {})


async def _doubtful(desk: Desk, made: Sequence[str]) -> str:
    """Return which facts may no longer hold because new items supersede their documents."""
    seen = desk.canon.seen_by(desk.caller)
    old = [one.subject for e in (await seen.things(made)).values() for one in successions_in(e)]
    titles = {folded(one.name) for one in (await seen.roots(old)).values()} if old else ()
    gone = {one.id for one in await _documents(desk) if folded(one.title) in titles} if old else ()
    if not gone:
        return ""
    asked = FactQuery(spaces=frozenset((desk.space.id,)), level=CanonLevel.CANON)
    facts = [one for one in await newest_match(desk.canon.state.facts, asked) if is_current(one)]
    cited = await seen.things({each.ref for one in facts for each in one.evidence})
    of = {i: getattr(each, "source_id", i) for i, each in cited.items()}
    resting = [
        one for one in facts if one.evidence and {of.get(e.ref) for e in one.evidence} <= gone
    ]
    says = await what_items_say(desk, [one.id for one in resting])
    return f" May no longer hold: {says}." if says else ""


async def _documents(desk: Desk) -> Sequence[Source]:
    return (await desk.canon.state.sources(desk.space.id, limit=PAGE_MAX, offset=0)).items


_PLACE: Final = re.compile(r"/claims/(\d+)/(from|to|about|who)(?:/(\d+))?")
"""The path of a name of an entity in a relation, a fact or an event."""


async def _claim_in_account(
    desk: Desk, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> Reply:
    """Record entities and their fields, and let the rules judge all other claims."""
    for n, claim in enumerate(claims):
        if not is_owner(claim.get("for", ())):
            message = f"/claims/{n}/for: only you can read your account. Omit /for."
            raise NotSupported("claim.account", message, path=f"/claims/{n}/for")
    if any("for" in claim for claim in claims):
        claims = [{name: e for name, e in one.items() if name != "for"} for one in claims]
        reply = await _claim_in_account(desk, claims, arguments)
        hint = " ".join(filter(None, (PRIVATE, reply.get("hint"))))
        return {**reply, "hint": hint}
    new = {folded(one["name"]): n for n, one in enumerate(claims) if one["kind"] == "entity"}
    own = [n for n, one in enumerate(claims) if await is_recorded(desk, one, new)]
    told = [n for n in range(len(claims)) if n not in own]
    if not told:
        return await record_claims(desk, claims, arguments)
    dry = {**arguments, "dry_run": True}
    if own:  # an error writes nothing, so that all claims are tried first
        unknown = [n for n in new.values() if not await is_entity(desk, claims[n]["name"])]
        first = told if "retcon" in {claims[n]["kind"] for n in told} else [*unknown, *told]
        with in_numbers_of_claims(first):
            judged = await _proposing_told(desk, [claims[n] for n in first], dry)
        judged["verdicts"] = judged["verdicts"][-len(told) :]
    with in_numbers_of_claims(own):
        only = {name: each for name, each in arguments.items() if name != "said"}
        recorded = await record_claims(desk, [claims[n] for n in own], only) if own else {}
    if not own or not arguments.get("dry_run"):
        with in_numbers_of_claims(told):
            judged = await _proposing_told(desk, [claims[n] for n in told], arguments)
    return _together(recorded, judged, [*own, *told])


def _together(recorded: Row, judged: Row, numbers: Sequence[int]) -> Row:
    """Return the replies about recorded and judged claims as one; `numbers` orders their rows."""
    rows = [*recorded.get("verdicts", ()), *judged["verdicts"]]
    ordered = [row for _, row in sorted(zip(numbers, rows, strict=True), key=lambda one: one[0])]
    texts = {
        name: " ".join(filter(None, (judged.get(name), recorded.get(name))))
        for name in ("note", "hint")
    }
    good = sum(row["verdict"] == "accepted" for row in rows)
    counts: Row = {"accepted": good, "of": len(rows), "verdicts": ordered}
    return filled({"note": texts["note"]}) | {**judged, **counts} | filled(texts)


async def _proposing_told(
    desk: Desk, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> Reply:
    canon, caller, space = desk.canon, desk.caller, desk.space.id
    dry, said = bool(arguments.get("dry_run")), arguments.get("said")
    evidence = await evidence_of(desk, arguments.get("evidence", ()), "/evidence")
    cited = Cited(evidence=evidence, authority=await _authority(desk, arguments, evidence))
    meant = [await restated(desk, one, n) for n, one in enumerate(claims)]
    if said is None and not dry:  # the reasons of corrections are evidence, too
        reasons = (one.get("reason") for one in claims if one["kind"] == "correction")
        said = " ".join(dict.fromkeys(filter(None, reasons))) or None
    if said is None and desk.is_account and not any("evidence" in e for e in (arguments, *claims)):
        most = canon.policy.limits.snippet  # the word of the owner is evidence
        said = "\n".join(map(briefly, claims))[:most]
    if any(claim["kind"] in UPKEPT for claim in meant):
        return await _upkeep(desk, meant, cited, said, dry=dry)
    reading = ClaimReading(desk, cited)
    suggestions = await reading.suggestions(meant)
    readers = await readers_of_claims(canon, suggestions)
    hints = await hints_on_readers(canon, suggestions, readers)
    with in_words_of_claims(claims):
        if said is not None and len(set(readers)) > 1:  # the words have the narrowest audience
            told = ({"audience": list(each) or "everyone"} for each in readers)
            pairs = zip(suggestions, told, strict=True)
            suggestions = [replace(e, content={**e.content, **own}) for e, own in pairs]
        decides = desk.is_account or caller.actor.agent_type in KEEPERS
        certain = "authority" in arguments or cited.authority in _LOWER  # may overrule, or never
        asked = ProposeRequest(
            suggestions=suggestions,
            words=None if said is None else _words(desk, said, narrowest(readers)),
            lower=None if certain else next(filter(caller.authorities.__contains__, _LOWER), None),
            decides=decides,
            dry=dry,
        )
        proposals = await propose_changes(canon, step(caller, "propose"), space, asked)
    verdicts = list(map(verdict_on, proposals))
    ended = await canon.seen_by(caller).things(one["id"] for each in verdicts for one in each.ends)
    later = {i for i, each in ended.items() if desk.canon.viewpoint.shows(each)}
    reply = _verdicts(claims, verdicts, later, written=decides and not dry)
    known = [e.canonical_id for e in verdicts if decides and not dry and KNOWN in e.rationale]
    reply |= filled({"known": known})
    if not decides and not dry:
        kept = "The proposals wait for a Keeper's decision. The verdicts are a preview."
        asks = any(row.get("rule") == entity_known.id for row in reply["verdicts"])
        reply |= {"kept": True, "hint": f"{kept} {reply['hint']}" if asks else kept}
    fallen = [i for one in proposals if decides and not dry for i in _over(one)]
    if fallen and (more := await judge_waiting(desk, fallen)):
        reply["judged_again"] = more
    cited_by = [evidence if dry else one.evidence for one in proposals]
    hints = [*await hints_on_links(reading, meant, cited_by, reply["verdicts"]), *hints]
    own = [reply["hint"]] if "hint" in reply else []
    return {**reply, "hint": " ".join((*own, *hints))} if hints else reply


async def _authority(desk: Desk, arguments: Arguments, evidence: Sequence[Evidence]) -> Authority:
    """Return the given authority, else one that fits the evidence and the caller's role.

    Evidence that consists of characters' turns alone gives the authority of a player.

    Raises:
        NotAllowed: `authority.claim-refused`, the caller may use none that fits.
    """
    if "authority" in arguments:
        return Authority(arguments["authority"])
    own = Authority.GM if desk.caller.actor.agent_type in KEEPERS else Authority.PLAYER
    if desk.is_account and not evidence:
        return Authority.GM
    written = bool(evidence) and all(each.kind in _DOCUMENTS for each in evidence)
    if await _is_only_said(desk, evidence):
        own = Authority.PLAYER
    wanted: list[Authority] = [Authority.SOURCE] if written else []
    for each in (*wanted, own, *_LOWER):
        if each in desk.caller.authorities:
            return each
    known = ", ".join(sorted(desk.caller.authorities)) or "none"
    message = f"No default fits these claims. You may use in /authority: {known}."
    raise NotAllowed("authority.claim-refused", message, path="/authority")


async def _is_only_said(desk: Desk, evidence: Sequence[Evidence]) -> bool:
    """Tell whether all evidence are turns in which characters speak."""
    cited = {each.ref for each in evidence if each.kind is EvidenceKind.TURN}
    if not evidence or len(cited) < len({each.ref for each in evidence}):
        return False
    turns = (await desk.canon.seen_by(desk.caller).things(cited)).values()
    return all(isinstance(one, Turn) and one.speaker is Speaker.ENTITY for one in turns)


def _words(desk: Desk, words: str, readers: Audience) -> QuotedWords:
    """Return the words for the document of these readers, who must include the caller."""
    text = checked_text(words, desk.canon.policy.limits.snippet, path="/said")
    desk.require_reader(readers, path="/said")
    return QuotedWords(text=text, title=SAID_TO_FEW if readers else SAID_TITLE, audience=readers)


def _verdicts(
    claims: Sequence[Mapping[str, Any]],
    verdicts: Sequence[ProposalVerdict],
    later: Collection[str],
    *,
    written: bool,
) -> Row:
    rows = [_verdict(claim, each, written) for claim, each in zip(claims, verdicts, strict=True)]
    good = sum(row["verdict"] == "accepted" for row in rows)
    note = " ".join(outcomes_of(verdicts, later, written=written))
    reply: Row = filled({"note": note}) | {"accepted": good, "of": len(rows), "verdicts": rows}
    if not written:
        reply = {"written": False, **reply}
    if good < len(rows):
        reply["hint"] = f"To see the objections, call why. {_way_out(rows)}"
    return reply


def _over(proposal: Proposal) -> Iterator[str]:
    """Yield the items that an accepted proposal ended or retracted."""
    said = verdict_on(proposal)
    if said.status is ProposalStatus.ACCEPTED:
        yield from (one["id"] for one in said.ends)
        yield from (one.id for one in said.graded if one.grade is Grade.CONTRADICTION)


def _way_out(rows: Sequence[Row]) -> str:
    """Return advice for claims that the rules did not accept."""
    rules = {row.get("rule") for row in rows}
    for asked in [each for each in rows if each.get("rule") == entity_known.id]:
        known, own = asked["against"][0]["id"], asked["proposal"]
        return (
            f'Is {asked["claim"]} the known one? Then decide merge, of=["{known}", "{own}"]. Else '
            f'separate, of=["{own}"]; or propose it with same_as: a name or id, or nobody.'
        )
    if ACCEPTED_RULE in rules:
        return "Propose the claim again with said or evidence, or decide accept."
    dated = statement_negated.id in rules
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
    if verdict.rule == dependency_accepted.id:  # the graded items are prerequisites, no objections
        return {**row, "builds_on": [one.id for one in verdict.graded]}
    corrects = status == "accepted" and verdict.rule == replacement_outranks.id
    sure = "retracted" if corrects else "contradiction"
    against = [
        {"id": e.id, "grade": sure if e.grade == "contradiction" else e.grade, "because": e.reason}
        for e in verdict.graded
    ]
    ends = [one["id"] for one in verdict.ends[:_AGAINST]]
    return row | filled({"ends": ends, "against": against[:_AGAINST]})


async def _upkeep(
    desk: Desk, claims: Sequence[Mapping[str, Any]], cited: Cited, said: str | None, *, dry: bool
) -> Reply:
    """Carry out corrections, merges and retcons for a keeper; propose them for anybody else."""
    if any(claim["kind"] not in UPKEPT for claim in claims):
        message = f"Put claims of the kinds {', '.join(UPKEPT)} in a separate call."
        raise InvalidInput("claim.mixed", message, path="/claims")
    asking = step(desk.caller, "upkeep")
    kept = await made_before(desk.canon, asking, desk.space.id, ProposalDraft)
    ids: Sequence[str] = [each.id for each in kept]
    corrected = await values_corrected(desk, claims, ids)
    if not ids:
        asked = await _asked(desk, claims, cited, said)
        ids = () if dry else await ask_upkeep(desk.canon, asking, desk.space.id, asked)
    decides = desk.is_account or desk.caller.actor.agent_type in KEEPERS
    verdict = "accepted" if decides else "needs review"
    rows: list[Row] = [{"claim": briefly(claim), "verdict": verdict} for claim in claims]
    for n, proposal_id in enumerate(ids):
        if decides:
            by, reason = step(desk.caller, str(n)), claims[n].get("reason", "")
            rows[n]["id"] = await accept_upkeep(desk.canon, by, proposal_id, reason)
        else:
            rows[n]["proposal"] = proposal_id
    reply: Row = filled({"note": in_short([*corrected.values()])})
    reply |= {"accepted": len(rows) if decides else 0, "of": len(rows), "verdicts": rows}
    if decides and not dry and (more := await judge_waiting(desk, [row["id"] for row in rows])):
        reply["judged_again"] = more
    if dry or not decides:
        reply = {"written": False, **reply}
    return reply if decides else {**reply, "kept": not dry, "hint": "A Keeper must decide on it."}


async def _asked(
    desk: Desk, claims: Sequence[Mapping[str, Any]], cited: Cited, said: str | None
) -> Sequence[Suggestion]:
    """Read corrections, merges and retcons, and refuse those that are impossible now."""
    asked: list[Suggestion] = []
    for n, claim in enumerate(claims):
        upkeep = await upkeep_of(desk, claim, f"/claims/{n}")
        await require_possible(desk.canon, desk.caller, desk.space.id, upkeep)
        own = await evidence_of(desk, claim.get("evidence", ()), f"/claims/{n}/evidence")
        asked.append(
            Suggestion(
                type=ProposalType.UPKEEP,
                content=upkeep,
                evidence=own or cited.evidence,
                confidence=1.0,
                authority=cited.authority,
            )
        )
    about = [i for one in asked for i in ids_in((one.content, [e.ref for e in one.evidence]))]
    readers = await audience_for(desk.canon, about, None)
    words: Sequence[Evidence] = ()
    if said is not None:
        kept = _words(desk, said, readers)
        words = await keep_words(desk.canon, step(desk.caller, "said"), desk.space.id, kept)
    return [replace(one, evidence=(*one.evidence, *words)) for one in asked]


TOOLS: Final = (canon_tool("propose", _propose, CONTRIBUTORS, kind=KINDS, authority=Authority),)
