"""The tool `propose`: claims, their evidence and their audience."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from canonry.assistant.aliases import claim_by_kind
from canonry.assistant.call_context import (
    CONTRIBUTORS,
    KEEPERS,
    PRIVATE,
    CallContext,
    context_of,
    is_owner,
)
from canonry.assistant.claims import (
    KINDS,
    UNJUDGED_KINDS,
    Cited,
    ClaimReader,
    brief_claim,
    change_content,
    corrected_values,
    evidence_of,
    is_entity,
    is_recorded,
    record_claims,
    renumber_errors,
    replacing_claim,
    require_members,
    reword_errors,
)
from canonry.assistant.corrections import execute_change, require_possible, stage_changes
from canonry.assistant.disputes import (
    documents_of,
    doubtful_statements,
    ended_in_part,
    say_once,
    with_sayers,
)
from canonry.assistant.first_sentences import join_first, join_parts
from canonry.assistant.reviewing import judge_waiting, outcomes_of
from canonry.assistant.rows import Row, cut_text, rows_of, without_empty
from canonry.assistant.tools import canon_tool
from canonry.assistant.undoing import what_items_say
from canonry.assistant.wording import CHANGING, COUNTED, HINTS, OUTCOMES, RENAMING
from canonry.canon.canonization.decide_proposals import KNOWN, ProposalVerdict, verdict_on
from canonry.canon.canonization.proposals import Suggestion
from canonry.canon.canonization.propose_changes import ProposeRequest, propose_changes
from canonry.canon.judging.gates.proposals import dependency_accepted
from canonry.canon.judging.gates.statements import (
    SUPERSEDED,
    replacement_outranks,
    statement_negated,
)
from canonry.canon.judging.gates.states import entity_known
from canonry.canon.judging.gates.verdicts import ACCEPTED_RULE
from canonry.canon.queries.names import Mentions, describe_candidate, find_near
from canonry.canon.session.caller import Caller, derive_step
from canonry.canon.session.canon import Canon
from canonry.canon.session.commit_change import audience_for, audiences_of, drafts_made_before
from canonry.canon.session.snippets import SAID_TITLE, QuotedText, keep_quotes
from canonry.gateway.limits import checked_text
from canonry.gateway.tool import Arguments, Reply
from canonry.language.reading.tokens import word_table
from canonry.language.texts.stems import is_part_of, words_of_name
from canonry.log.items.entities import Entity
from canonry.log.items.facts import Relation
from canonry.log.items.proposals import ProposalDraft, ProposalStatus, ProposalType
from canonry.log.items.scenes import Speaker, Turn
from canonry.log.items.sources import Source
from canonry.log.observations import ids_in
from canonry.values.attributes.table import attribute_of_relation, find_attribute
from canonry.values.audience import EVERYBODY, Audience, audience_covers, audience_in, narrowest
from canonry.values.errors import CanonryError, InvalidInput, NotAllowed, NotFound, NotSupported
from canonry.values.ids import SceneId
from canonry.values.json_values import encode_json, fold_text
from canonry.values.provenance import Authority, Evidence, EvidenceKind

_NAMED_MAX: Final = 3  # the most items that a hint names


async def readers_of_claims(canon: Canon, suggestions: Sequence[Suggestion]) -> list[Audience]:
    """Return the audience of each claim: the one it names, limited to readers of its items.

    A claim that names no audience is also limited to the readers of its evidence.
    """
    about: list[tuple[Audience, list[str]]] = []
    for n, asked in enumerate(suggestions):
        requested, ids = asked.content.get("audience"), list(ids_in(asked.content))
        if requested is None:
            ids += [one.ref for one in asked.evidence]
        about.append((audience_in(requested or "everyone", path=f"/claims/{n}/for"), ids))
    known: Mapping[str, Audience] = {}
    if await canon.store_of_all.state.compartments():
        known = await audiences_of(canon, {one for _, ids in about for one in ids})
    return [
        narrowest((requested, *(known.get(i, EVERYBODY) for i in ids))) for requested, ids in about
    ]


async def hints_on_readers(
    canon: Canon, suggestions: Sequence[Suggestion], readers: Sequence[Audience]
) -> list[str]:
    """Return hints on claims with a limited audience, and on evidence with a larger one."""
    cited = {one.ref for asked in suggestions for one in asked.evidence}
    known = await audiences_of(canon, cited)
    hints: list[str] = []
    for n, (asked, audience) in enumerate(zip(suggestions, readers, strict=True)):
        if not audience:
            continue
        if "audience" not in asked.content:
            hints.append(HINTS["few"].format(n))
        open_to_more = [
            f"{one} ({'public' if not known.get(one.ref) else 'for more readers'})"
            for one in asked.evidence
            if not audience_covers(audience, known.get(one.ref, EVERYBODY))
        ]
        if open_to_more:
            listed = ", ".join(open_to_more[:_NAMED_MAX])
            hints.append(HINTS["readers"].format(n, listed))
    return hints


_OF_OWNER: Final = re.compile(r"\b(?:I|me|my|mine|we|us|our)\b")
"""The words for the owner of an account, who is no entity."""


async def hints_on_links(
    reading: ClaimReader,
    claims: Sequence[Mapping[str, Any]],
    evidence: Sequence[Sequence[Evidence]],
    rows: Sequence[Row],
) -> list[str]:
    """Return hints on new claims that link to no entity or have an ambiguous name.

    Claims that are known, that end another one, or that something stands against have none.
    """
    open_ones: list[tuple[_UnlinkedClaim, Mentions]] = []
    for n, mentions in reading.mentions.items():
        claim, own = claims[n], reading.context.is_account and _OF_OWNER.search(claims[n]["says"])
        linked = mentions.found or claim.get("who") or claim.get("where") or own
        others = rows[n].keys() & {"against", "ends"}
        new = rows[n].get("verdict", "rejected") != "rejected" and not others
        if new and (mentions.unclear or not linked):
            open_ones.append((_UnlinkedClaim(claim, evidence[n], rows[n].get("id")), mentions))
    found = [(one, await _link_hint(reading, one, named)) for one, named in open_ones[:_NAMED_MAX]]
    hints = [hint for _, hint in found if hint]
    if unknown := [f'"{e.claim["says"].strip()}"' for e, hint in found if not hint]:
        again = " again with `replaces`" if any(e.made for e, hint in found if not hint) else ""
        hints.append(HINTS["new"].format(join_parts(unknown), again))
    if len(open_ones) > _NAMED_MAX:
        hints.append(f"{len(open_ones) - _NAMED_MAX} more claims are not linked to an entity.")
    return hints


class _UnlinkedClaim(NamedTuple):
    """A claim without a linked entity, its evidence, and the id of the item made of it."""

    claim: Mapping[str, Any]
    evidence: Sequence[Evidence]
    made: str | None


async def _link_hint(reading: ClaimReader, unlinked: _UnlinkedClaim, mentions: Mentions) -> str:
    """Return a hint that names the entities that a claim may mean; nothing if none is known."""
    says = unlinked.claim["says"].strip()
    near: Sequence[Entity | str] = next(iter(mentions.unclear.values()), ())
    linked = ": " + ", ".join(
        f"{name} may mean {_joined_names(candidates, ' or ')}"
        for name, candidates in mentions.unclear.items()
    )
    if not near:
        near = await find_near(reading.context.canon, reading.context.space.id, says)
        linked = f"; nearest: {_joined_names(near, ', ')}"
    if not near:
        return ""
    others = [linked_id or name for name, linked_id in mentions.found.items()]
    name, reference = _name_references(near)[0]
    about = [reference, *others]
    wrong = {"replaces": unlinked.made, "reason": "It was linked to no entity."}
    claim = {**unlinked.claim, "about": about, **(wrong if unlinked.made else {})}
    evidence = [each.ref for each in unlinked.evidence]
    call = encode_json({"claims": [claim], **({"evidence": evidence} if evidence else {})}).decode()
    return f'No entity is linked to "{says}"{linked}. If {name} is meant: propose {call}'


def _name_references(near: Sequence[Entity | str]) -> list[tuple[str, str]]:
    """Return each name with the reference for another call: an id where names are equal."""
    names = [one.name if isinstance(one, Entity) else one for one in near]
    return [
        (describe_candidate(one), one.id)
        if isinstance(one, Entity) and names.count(name) > 1
        else (name, name)
        for one, name in zip(near, names, strict=True)
    ]


def _joined_names(near: Sequence[Entity | str], between: str) -> str:
    return between.join(name for name, _ in _name_references(near))


LIMITED_TITLE: Final = "What was said to few"
"""The title if the claims have a limited audience; each audience has its own document."""
_AGAINST: Final = 5
_LOWER: Final = (Authority.PLAYER, Authority.SYSTEM)
"""Authorities that overrule neither documents nor keepers."""
_DOCUMENTS: Final = frozenset({EvidenceKind.SOURCE, EvidenceKind.SNIPPET})


async def _propose_claims(canon: Canon, caller: Caller, arguments: Arguments) -> Reply:
    context = await context_of(canon, caller, arguments, "evidence", "claims/evidence", "claims/of")
    context.require_writable()
    claims = [claim_by_kind(each) for each in arguments["claims"]]
    for n, claim in enumerate(claims):
        require_members(claim, n)
    await _name_documents(context, claims)
    judge = _claim_in_account if context.is_account else _propose_judged
    while True:  # each turn adds an entity for a document that claims name as one
        try:
            reply = await with_sayers(context, await judge(context, claims, arguments))
            return await _describe_reply(context, reply, len(arguments["claims"]))
        except (NotFound, InvalidInput) as error:
            found = await _document_meant(context, claims, error)
            if found is None or len(claims) > len(arguments["claims"]) + _NAMED_MAX:
                raise
            claims.append({"kind": "entity", "name": found.title, "type": "document"})
            claims[-1]["evidence"] = [found.id]


async def _describe_reply(context: CallContext, reply: Row, asked: int) -> Row:
    """Return the reply about the caller's own claims, with a sentence on what became of them."""
    rows = reply.pop("verdicts")
    verdicts, added = rows[:asked], rows[asked:]
    good = sum(row["verdict"] == "accepted" for row in verdicts)
    known: Sequence[str] = reply.pop("known", ())
    few = ", ".join(dict.fromkeys(reply.pop("kept_for", ()))) if good else ""
    note, hidden = reply.pop("note", ""), few and len(known) < asked
    if hidden or good < asked or not (note or len(known) == asked):
        dry, found = reply.get("written") is False, Counter(row["verdict"] for row in verdicts)
        parts = [f"{COUNTED[how][dry]} {n} of {asked}" for how, n in sorted(found.items())]
        note = f"{'. '.join(reversed(parts))}{few and ', '}{few}. {note}".strip()
    say_once(note, [*rows, *reply.get("judged_again", ())])
    reported = f"Known already: {await what_items_say(context, known)}." if known else ""
    note = " ".join(filter(None, (note, reported)))
    added_names = ", ".join(row["claim"] for row in added)
    note += f" Linked to documents recorded before: {added_names}." if added else ""
    if doubtful := await doubtful_statements(context, verdicts):
        note += f" May no longer hold: {'; '.join(doubtful.values())}."
        reply["hint"] = f"{reply.get('hint', '')} {HINTS['doubtful']}".strip()
    if any("ends" in e for e in verdicts) and (partly := await ended_in_part(context, verdicts)):
        reply["hint"] = f"{reply.get('hint', '')} {HINTS['partly'].format(partly)}".strip()
    first = {"note": note} if reply.get("written", True) else {"note": note, "written": False}
    return {**first, "accepted": good, "of": asked, "verdicts": verdicts, **reply}


async def _document_meant(
    context: CallContext, claims: Sequence[Mapping[str, Any]], error: CanonryError
) -> Source | None:
    """Return the document that a claim names where it needs an entity, by the error's path."""
    found = _CLAIM_PATH.fullmatch(error.details.get("path", ""))
    if found is None or error.code not in {"name.unknown", "name.other-kind"}:
        return None
    number, member, index = found.groups()
    value, path = claims[int(number)][member], found[0]
    try:
        item = await context.find_item(value[int(index)] if index else value, Source, path=path)
    except (NotFound, InvalidInput):
        return None
    known = {fold_text(each["name"]) for each in claims if each["kind"] == "entity"}
    return item if isinstance(item, Source) and fold_text(item.title) not in known else None


async def _name_documents(context: CallContext, claims: Sequence[dict[str, Any]]) -> None:
    """Link a claim that says which document supersedes which, so that what one says can end."""
    verbs = word_table("en").verbs.items()
    reporting = [verb[:-1] for verb, rules in verbs if any(rule[0] in SUPERSEDED for rule in rules)]
    for claim in (one for one in claims if one["kind"] == "fact" and "about" not in one):
        says = claim["says"].casefold()
        documents = await documents_of(context) if any(verb in says for verb in reporting) else ()
        titles = [one.title for one in documents if one.title]
        named = [each for each in titles if is_part_of(words_of_name(each), words_of_name(says))]
        claim.update({"about": named} if named else {})


_MARKED: Final = frozenset({"fact", "event", "relation"})
_CLAIM_PATH: Final = re.compile(r"/claims/(\d+)/(from|to|about|who)(?:/(\d+))?")
"""The path of a name of an entity in a relation, a fact or an event."""


async def _claim_in_account(
    context: CallContext, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> Reply:
    """Record entities and their fields, and let the rules judge all other claims."""
    for n, claim in enumerate(claims):
        if not is_owner(claim.get("for", ())):
            message = f"/claims/{n}/for: only you can read your account. Omit /for."
            raise NotSupported("claim.account", message, path=f"/claims/{n}/for")
    kept = {"kept_for": [PRIVATE]} if any("for" in claim for claim in claims) else {}
    claims = [_marked_claim(context, claim) if "for" in claim else claim for claim in claims]
    new = {fold_text(one["name"]): n for n, one in enumerate(claims) if one["kind"] == "entity"}
    own = [n for n, one in enumerate(claims) if await is_recorded(context, one, new)]
    judged_numbers = [n for n in range(len(claims)) if n not in own]
    if not judged_numbers:
        return {**kept, **await record_claims(context, claims, arguments)}
    dry = {**arguments, "dry_run": True}
    if own:  # an error writes nothing, so that all claims are tried first
        unknown = [n for n in new.values() if not await is_entity(context, claims[n]["name"])]
        retcons = any(claims[n]["kind"] == "retcon" for n in judged_numbers)
        first = judged_numbers if retcons else [*unknown, *judged_numbers]
        with renumber_errors(first):
            judged = await _propose_judged(context, [claims[n] for n in first], dry)
        judged["verdicts"] = judged["verdicts"][-len(judged_numbers) :]
    with renumber_errors(own):
        only = {name: each for name, each in arguments.items() if name != "said"}
        recorded = await record_claims(context, [claims[n] for n in own], only) if own else {}
    if not own or not arguments.get("dry_run"):
        with renumber_errors(judged_numbers):
            judged = await _propose_judged(context, [claims[n] for n in judged_numbers], arguments)
    return {**kept, **_join_replies(recorded, judged, [*own, *judged_numbers])}


def _marked_claim(context: CallContext, claim: Mapping[str, Any]) -> dict[str, Any]:
    """Return a claim for the owner alone; only statements have readers, whom masters see."""
    marks = claim["kind"] in _MARKED and context.caller.viewer.masters
    rest = {name: each for name, each in claim.items() if name != "for"}
    return {**rest, "for": ["gm"]} if marks else rest


def _join_replies(recorded: Row, judged: Row, numbers: Sequence[int]) -> Row:
    """Return the replies about recorded and judged claims as one; `numbers` orders their rows."""
    rows = [*recorded.get("verdicts", ()), *judged["verdicts"]]
    ordered = [row for _, row in sorted(zip(numbers, rows, strict=True), key=lambda one: one[0])]
    texts = {
        name: " ".join(filter(None, (judged.get(name), recorded.get(name))))
        for name in ("note", "hint")
    }
    return {**judged, "verdicts": ordered, **without_empty(texts)}


async def _propose_judged(
    context: CallContext, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> Reply:
    canon, caller, space = context.canon, context.caller, context.space.id
    dry, quoted = bool(arguments.get("dry_run")), _text_quoted(context, claims, arguments)
    evidence = await evidence_of(context, arguments.get("evidence", ()), "/evidence")
    choose = partial(_choose_authority, context, arguments)
    cited = Cited(evidence=evidence, authority=await choose(evidence), choose=choose)
    meant = [await replacing_claim(context, one, n) for n, one in enumerate(claims)]
    if any(claim["kind"] in UNJUDGED_KINDS for claim in meant):
        return await _change_by_keeper(context, meant, cited, quoted, dry=dry)
    reading = ClaimReader(context, cited)
    suggestions = await reading.read_claims(meant)
    readers = await readers_of_claims(canon, suggestions)
    few = any(readers) and not context.is_account  # there, only the owner reads the evidence
    hints = await hints_on_readers(canon, suggestions, readers) if few else []
    with reword_errors(claims):
        if quoted is not None and len(set(readers)) > 1:  # the words have the narrowest audience
            audiences = ({"audience": list(each) or "everyone"} for each in readers)
            pairs = zip(suggestions, audiences, strict=True)
            suggestions = [replace(e, content={**e.content, **own}) for e, own in pairs]
        decides = context.is_account or caller.actor.agent_type in KEEPERS
        certain = "authority" in arguments or cited.authority in _LOWER  # may overrule, or never
        asked = ProposeRequest(
            suggestions=suggestions,
            quoted=None if quoted is None else _make_quote(context, quoted, narrowest(readers)),
            lower=None if certain else next(filter(caller.authorities.__contains__, _LOWER), None),
            decides=decides,
            dry=dry,
        )
        proposals = await propose_changes(canon, derive_step(caller, "propose"), space, asked)
    verdicts = list(map(verdict_on, proposals))
    ends = [one["id"] for each in verdicts for one in each.ends]
    ended = await canon.caller_scope(caller).items_by_id(ends)
    later = {i for i, each in ended.items() if context.canon.viewpoint.may_show(each)}
    reply = _verdict_reply(claims, verdicts, later, written=decides and not dry)
    if await _may_change(context, verdicts):
        reply["hint"] = f"{reply['hint']} {HINTS['changed']}"
    known = [e.canonical_id for e in verdicts if decides and not dry and KNOWN in e.rationale]
    reply |= without_empty({"known": known})
    if any("when" in one for one in meant):
        await _add_times_read(context, meant, reply["verdicts"])
    reply |= without_empty({"kept_for": await _limited_readers(context, verdicts, readers)})
    if not decides and not dry:
        kept = "The proposals wait for a Keeper's decision. The verdicts are a preview."
        asks = any(row.get("rule") == entity_known.id for row in reply["verdicts"])
        reply |= {"kept": True, "hint": f"{kept} {reply['hint']}" if asks else kept}
    done = [e for e in verdicts if e.status is ProposalStatus.ACCEPTED and decides and not dry]
    retracted = {one for e in done for one in (*(end["id"] for end in e.ends), *e.conflicts)}
    if retracted and (more := await judge_waiting(context, retracted)):
        reply["judged_again"] = more
    cited_by = [evidence if dry else one.evidence for one in proposals]
    if reading.mentions:
        new = [{} if row.get("id") in known else row for row in reply["verdicts"]]
        hints = [*await hints_on_links(reading, meant, cited_by, new), *hints]
    renamed = [(RENAMING.search(e.get("says", "")), e.get("about", ())) for e in meant]
    hints += [HINTS["name"].format(e[1]) for e, known in renamed if e and e[1] not in known]
    own = [reply["hint"]] if "hint" in reply else []
    return {**reply, "hint": " ".join((*own, *hints))} if hints else reply


async def _add_times_read(
    context: CallContext, claims: Sequence[Mapping[str, Any]], rows: Sequence[Row]
) -> None:
    """Add to each row of a new item its time as it was read, if `when` is in words."""
    timed = [one.get("when", "0")[0] not in "0123456789" for one in claims]
    ids = {row["id"] for row, words in zip(rows, timed, strict=True) if words and "id" in row}
    items = await context.canon.caller_scope(context.caller).items_by_id(ids)
    shown = {row["id"]: row for row in await rows_of(context, [*items.values()])}
    for row in (one for one in rows if one.get("id") in shown):
        row |= {name: each for name, each in shown[row["id"]].items() if name in {"from", "when"}}


async def _limited_readers(
    context: CallContext, verdicts: Sequence[ProposalVerdict], readers: Sequence[Audience]
) -> list[str]:
    """Return in words for whom the accepted claims are kept that not everybody may read."""
    good = [
        audience
        for one, audience in zip(verdicts, readers, strict=True)
        if one.status is ProposalStatus.ACCEPTED
    ]
    few = [(n, await context.readers_in_words(one)) for one, n in Counter(good).items() if one]
    return [text if n == len(good) else f"{n} of them {text}" for n, text in few]


def _text_quoted(
    context: CallContext, claims: Sequence[Mapping[str, Any]], arguments: Arguments
) -> str | None:
    """Return the text that is kept as evidence: what was said, else reasons of corrections."""
    quoted: str | None = arguments.get("said")
    if quoted is None and not arguments.get("dry_run"):
        reasons = (one.get("reason") for one in claims if one["kind"] == "correction")
        quoted = " ".join(dict.fromkeys(filter(None, reasons))) or None
    backed = any("evidence" in each for each in (arguments, *claims))
    if quoted is None and context.is_account and not backed:
        most = context.canon.policy.limits.snippet  # the word of the owner is evidence
        quoted = "\n".join(map(brief_claim, claims))[:most]
    return quoted


async def _choose_authority(
    context: CallContext, arguments: Arguments, evidence: Sequence[Evidence]
) -> Authority:
    """Return the given authority, else one that fits the evidence and the caller's role.

    Evidence that consists of characters' turns alone gives the authority of a player.

    Raises:
        NotAllowed: `authority.claim-refused`, the caller may use none that fits.
    """
    if "authority" in arguments:
        return Authority(arguments["authority"])
    own = Authority.GM if context.caller.actor.agent_type in KEEPERS else Authority.PLAYER
    if context.is_account and not evidence:
        return Authority.GM
    written = bool(evidence) and all(each.kind in _DOCUMENTS for each in evidence)
    if evidence and await _is_only_dialogue(context, evidence):
        own = Authority.PLAYER
    wanted: list[Authority] = [Authority.SOURCE] if written else []
    for each in (*wanted, own, *_LOWER):
        if each in context.caller.authorities:
            return each
    known = ", ".join(sorted(context.caller.authorities)) or "none"
    message = f"No default fits these claims. You may use in /authority: {known}."
    raise NotAllowed("authority.claim-refused", message, path="/authority")


async def _is_only_dialogue(context: CallContext, evidence: Sequence[Evidence]) -> bool:
    """Return whether only characters speak in all evidence, which is turns and scenes."""
    scenes = [SceneId(each.ref) for each in evidence if each.kind is EvidenceKind.SCENE]
    played = [await context.canon.documents.turns(one) for one in scenes]
    cited = {each.ref for each in evidence} - {*scenes}
    items = (await context.canon.caller_scope(context.caller).items_by_id(cited)).values()
    turns = [isinstance(e, Turn) and e.speaker is Speaker.ENTITY for e in chain(items, *played)]
    return all(played) and all(turns)


def _make_quote(context: CallContext, quoted: str, readers: Audience) -> QuotedText:
    """Return the quote for the document of these readers, who must include the caller."""
    text = checked_text(quoted, context.canon.policy.limits.snippet, path="/said")
    context.require_reader(readers, path="/said")
    return QuotedText(text=text, title=LIMITED_TITLE if readers else SAID_TITLE, audience=readers)


def _verdict_reply(
    claims: Sequence[Mapping[str, Any]],
    verdicts: Sequence[ProposalVerdict],
    later: Collection[str],
    *,
    written: bool,
) -> Row:
    rows = [
        _verdict_row(claim, each, written) for claim, each in zip(claims, verdicts, strict=True)
    ]
    left = [row for row in rows if row["verdict"] != "accepted"]
    good = [e.compared and e.status is ProposalStatus.ACCEPTED for e in verdicts]
    new = [not (e.ends or e.graded or KNOWN in e.rationale) for e in verdicts]
    told = [CHANGING.search(str(each.get("says", ""))) for each in claims]
    idle = [
        row["claim"] for row, *is_idle in zip(rows, good, new, told, strict=True) if all(is_idle)
    ]
    more = [f"{OUTCOMES['idle'][not written]}: {join_first(idle)}."] if idle else []
    note = " ".join((*outcomes_of(verdicts, later, written=written), *more))
    reply: Row = {} if written else {"written": False}
    reply |= without_empty({"note": note}) | {"verdicts": rows}
    return reply | ({"hint": _advice_for(left, written)} if left else {})


def _advice_for(left: Sequence[Row], written: bool) -> str:  # noqa: FBT001
    """Return advice for claims that the rules did not accept."""
    for asked in [each for each in left if each.get("rule") == entity_known.id]:
        known, own = asked["against"][0]["id"], asked["proposal"]
        return HINTS["known"].format(asked["claim"], known, own)
    if not (open_ones := [row for row in left if row.get("rule") not in HINTS]):
        return HINTS[left[0]["rule"]]  # nobody can overrule these rules
    how = "light" if all(row.get("rule") == ACCEPTED_RULE for row in open_ones) else "against"
    advice = HINTS[how if written else f"{how}-dry"].format(open_ones[0].get("proposal"))
    return " ".join(filter(None, (advice, HINTS.get(f"also {open_ones[0].get('rule')}"))))


async def _may_change(context: CallContext, verdicts: Sequence[ProposalVerdict]) -> bool:
    """Return whether refused claims contradict only values that can change, unlike a father."""
    refused = [one for one in verdicts if one.status is ProposalStatus.REJECTED]
    against = [i for one in refused if one.rule == statement_negated.id for i in one.conflicts]
    items = (await context.canon.caller_scope(context.caller).items_by_id(against)).values()
    said = [find_attribute(one.attribute) for e in items for one in getattr(e, "statements", ())]
    said += [attribute_of_relation(e.rel_type)[0] for e in items if isinstance(e, Relation)]
    return bool(against) and not any(one.fixed or one.always for one in said)


def _verdict_row(claim: Mapping[str, Any], verdict: ProposalVerdict, written: bool) -> Row:  # noqa: FBT001
    text, waits = brief_claim(claim), verdict.needs_review
    status = "needs review" if waits else verdict.status.value
    row: Row = {"claim": cut_text(text, full=False), "verdict": status}
    if verdict.status is ProposalStatus.ACCEPTED and written:
        row["id"] = verdict.canonical_id or verdict.proposal_id
    elif verdict.status is not ProposalStatus.ACCEPTED:
        how = "Contradicts: " if verdict.rule == statement_negated.id and not waits else ""
        row |= {"rule": verdict.rule, "because": f"{how}{verdict.rationale}"}
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
    return row | without_empty({"ends": ends, "against": against[:_AGAINST]})


async def _change_by_keeper(
    context: CallContext,
    claims: Sequence[Mapping[str, Any]],
    cited: Cited,
    quoted: str | None,
    *,
    dry: bool,
) -> Reply:
    """Carry out corrections, merges and retcons for a keeper; propose them for anybody else."""
    if any(claim["kind"] not in UNJUDGED_KINDS for claim in claims):
        message = f"Put claims of the kinds {', '.join(UNJUDGED_KINDS)} in a separate call."
        raise InvalidInput("claim.mixed", message, path="/claims")
    asking = derive_step(context.caller, "upkeep")
    kept = await drafts_made_before(context.canon, asking, context.space.id, ProposalDraft)
    ids: Sequence[str] = [each.id for each in kept]
    corrected = await corrected_values(context, claims, ids)
    if not ids:
        asked = await _read_changes(context, claims, cited, quoted)
        ids = () if dry else await stage_changes(context.canon, asking, context.space.id, asked)
    decides = context.is_account or context.caller.actor.agent_type in KEEPERS
    verdict = "accepted" if decides else "needs review"
    rows: list[Row] = [{"claim": brief_claim(claim), "verdict": verdict} for claim in claims]
    for n, proposal_id in enumerate(ids):
        if decides:
            by, reason = derive_step(context.caller, str(n)), claims[n].get("reason", "")
            rows[n]["id"] = await execute_change(context.canon, by, proposal_id, reason)
        else:
            rows[n]["proposal"] = proposal_id
    values = [*corrected.values()]
    reply: Row = without_empty({"note": values and f"{join_first(values)}.", "verdicts": rows})
    if decides and not dry and (more := await judge_waiting(context, [row["id"] for row in rows])):
        reply["judged_again"] = more
    if dry or not decides:
        reply = {"written": False, **reply}
    return reply if decides else {**reply, "kept": not dry, "hint": "A Keeper must decide on it."}


async def _read_changes(
    context: CallContext, claims: Sequence[Mapping[str, Any]], cited: Cited, quoted: str | None
) -> Sequence[Suggestion]:
    """Read corrections, merges and retcons, and refuse those that are impossible now."""
    asked: list[Suggestion] = []
    for n, claim in enumerate(claims):
        content = await change_content(context, claim, f"/claims/{n}")
        await require_possible(context.canon, context.caller, context.space.id, content)
        own = await evidence_of(context, claim.get("evidence", ()), f"/claims/{n}/evidence")
        asked.append(
            Suggestion(
                type=ProposalType.UPKEEP,
                content=content,
                evidence=own or cited.evidence,
                confidence=1.0,
                authority=cited.authority,
            )
        )
    about = [i for one in asked for i in ids_in((one.content, [e.ref for e in one.evidence]))]
    readers = await audience_for(context.canon, about, None)
    evidence: Sequence[Evidence] = ()
    if quoted is not None:
        kept = _make_quote(context, quoted, readers)
        evidence = await keep_quotes(
            context.canon, derive_step(context.caller, "said"), context.space.id, kept
        )
    return [replace(one, evidence=(*one.evidence, *evidence)) for one in asked]


TOOLS: Final = (
    canon_tool("propose", _propose_claims, CONTRIBUTORS, kind=KINDS, authority=Authority),
)
