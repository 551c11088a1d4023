"""The verdict `undo_last` of `decide`: take back the caller's last call, or an undo."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from canonry.assistant.call_context import CallContext
from canonry.assistant.first_sentences import count_in_words, join_first
from canonry.assistant.rows import Row, rows_of, without_empty
from canonry.assistant.wording import HINTS
from canonry.canon.canonization.undo_call import undo_call
from canonry.canon.session.commit_change import Withdraw
from canonry.canon.session.lookup import account_of
from canonry.gateway.tool import Arguments
from canonry.log import entries as log
from canonry.log.entries import Tombstone
from canonry.log.fold_commit import ids_of
from canonry.log.items.proposals import Proposal
from canonry.log.items.sources import Snippet, holds_quotes
from canonry.records.usecases.withdrawing import entries_withdrawing
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.ids import is_uuid
from canonry.values.observations import Observation, ObservationDraft

_GONE: Final = (log.EntityRetconned, log.EventRetconned, log.RelationRetconned, log.FactRetconned)
_BACK: Final = (log.FactResumed, log.RelationResumed, log.Restored)
_NOUNS: Final = {"turn": "turn", "snippet": "passage", "source": "document", "scene": "scene"}
_TITLES: Final = ("title", "file_name")
_NAMES: Final = ("properties.name", "properties.title")


async def undo_last(context: CallContext, of: Sequence[str], arguments: Arguments) -> Row:
    """Undo the last call, or the undo that `of` names by the id in its reply.

    Raises:
        InvalidInput: `decide.how-many`.
        Conflict: `undo.rests-on`, with what the later items say.
    """
    if of and (len(of) > 1 or not is_uuid(of[0])):
        message = "Omit /of to undo your last call, or give one id that a reply of decide has."
        raise InvalidInput("decide.how-many", message, path="/of")
    reason = arguments.get("reason") or "the caller took the call back"
    undone = of[0] if of else None
    asked: Row = {"reason": reason, "undo_id": undone, "withdraw": withdrawal(context)}
    try:
        receipt = await undo_call(context.canon, context.caller, context.space.id, **asked)
    except Conflict as error:
        if error.code not in {"undo.rests-on", "undo.changed-nothing"}:
            raise
        says = await what_items_say(context, error.details["conflicts"])
        if error.code == "undo.changed-nothing":
            last = await what_items_say(context, error.details["last"])
            note, call = HINTS["idle"].format(last), f'decide undo, of=["{error.details["undo"]}"]'
            return {"note": note, "hint": f"To take back the call before it ({says}), {call}."}
        message = f"Later items rest on what this call did: {says}. Retcon them first."
        raise Conflict(error.code, message, **error.details) from error
    entries, drafts = receipt.entries, receipt.found or {}
    withdrawn = [i for each in entries if isinstance(each, log.Withdrawn) for i in each.targets]
    gone = [ids_of(each)[0] for each in entries if isinstance(each, _GONE)]
    back = [ids_of(each)[0] for each in entries if isinstance(each, _BACK)]
    others = [e for e in entries if not isinstance(e, log.CallUndone | log.Withdrawn)]
    about = [ids_of(each)[-1 if isinstance(each, log.Made) else 0] for each in others]
    if not of:  # forgotten items are made again
        back += [e.thing.id for e in entries if isinstance(e, log.Made)]
    back = [one for one in dict.fromkeys(back) if one not in gone]
    changed = [one for one in about if one not in {*gone, *back}]
    groups = (
        ("Took back", await what_items_say(context, [*reversed(gone), *withdrawn], drafts)),
        (
            "Done again" if of else "Changed back",
            await what_items_say(context, changed, tagged=True),
        ),
        ("Holds again", await what_items_say(context, back)),
    )
    note = " ".join(f"{what}: {says}." for what, says in groups if says)
    return without_empty(
        {"note": note, "id": receipt.commit_id, "fallen": gone, "holds_again": back}
    )


def withdrawal(context: CallContext) -> Withdraw | None:
    """Return how documents of an account are withdrawn; None for other spaces."""
    own = partial(entries_withdrawing, context.canon, account_of(context.caller))
    return own if context.is_account else None


async def what_items_say(
    context: CallContext,
    ids: Sequence[str],
    drafts: Mapping[str, log.ItemDraft] = MappingProxyType({}),
    *,
    tagged: bool = False,
) -> str:
    """Return what the first of some items say, and the number of the others.

    Withdrawn documents and scenes have the titles of their `drafts`.
    """
    found = await context.canon.caller_scope(context.caller).items_by_id(ids)
    known = [found[one] for one in dict.fromkeys(ids) if one in found]
    shown = [e for e in known if not isinstance(e, Tombstone | Observation)]
    shown = [e for e in shown if not isinstance(e, Proposal | Snippet)] or shown
    shown = [e for e in shown if not holds_quotes(e)] or shown
    rows = await rows_of(context, shown)
    texts = [str(row.get("name") or row.get("says", "")).rstrip(".") for row in rows]
    for n, row in enumerate(rows if tagged else ()):
        texts[n] += f" is {', '.join(row['tags'])}" if "tags" in row else ""
    gone = [one for one in known if isinstance(one, Tombstone) and one.was != "story"]
    titles = {one.id: _title(drafts.get(one.id)) for one in gone}
    texts += titles.values()
    counts = Counter(one.was for one in gone if not titles[one.id])
    texts += [count_in_words(count, _NOUNS[was]) for was, count in counts.items() if was in _NOUNS]
    return join_first(list(dict.fromkeys(filter(None, texts))))


def _title(draft: log.ItemDraft | None) -> str:
    """Return the title of a withdrawn document or scene, or the name in an observation."""
    fields = draft.fields if isinstance(draft, ObservationDraft) else {}
    texts = (*(getattr(draft, each, "") for each in _TITLES), *map(fields.get, _NAMES))
    return next((one for one in texts if isinstance(one, str) and one), "")
