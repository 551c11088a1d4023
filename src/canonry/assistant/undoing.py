"""The verdict `undo` of `decide`: take back the caller's last call, or an undo."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Final

from canonry.assistant.desk import Desk
from canonry.assistant.rows import Row, filled, rows_of
from canonry.canon.canonization.undo_call import undo_call
from canonry.canon.session.lookup import account_of
from canonry.gateway.tool import Arguments
from canonry.log import entries as log
from canonry.log.canon import ids_of
from canonry.log.entries import Tombstone
from canonry.records.usecases.withdrawing import withdrawn_with
from canonry.values.errors import Conflict, InvalidInput
from canonry.values.observations import Observation

_GONE: Final = (log.EntityRetconned, log.EventRetconned, log.RelationRetconned, log.FactRetconned)
_BACK: Final = (log.FactResumed, log.RelationResumed, log.Restored)
_WORDS: Final = {"turn": "turns", "snippet": "passages", "source": "documents", "scene": "scenes"}
_NAMED: Final = 3
"""The most items that a sentence names."""


async def undo(desk: Desk, of: Sequence[str], arguments: Arguments) -> Row:
    """Undo the last call, or the undo that `of` names by the id in its reply.

    Raises:
        InvalidInput: `decide.how-many`.
        Conflict: `undo.rests-on`, with what the later items say.
    """
    if len(of) > 1:
        message = f"/of has {len(of)} items. Omit it, or give the id that an undo returned."
        raise InvalidInput("decide.how-many", message, path="/of")
    reason = arguments.get("reason") or "the caller took the call back"
    own = partial(withdrawn_with, desk.canon, account_of(desk.caller))
    withdraw = own if desk.is_account else None
    asked: Row = {"reason": reason, "undo_id": of[0] if of else None, "withdraw": withdraw}
    try:
        receipt = await undo_call(desk.canon, desk.caller, desk.space.id, **asked)
    except Conflict as error:
        if error.code != "undo.rests-on":
            raise
        says = await _says(desk, error.details["conflicts"])
        message = f"Later items rest on what this call did: {says}. Retcon them first."
        raise Conflict(error.code, message, **error.details) from error
    entries = receipt.entries
    words = [i for each in entries if isinstance(each, log.Withdrawn) for i in each.targets]
    gone = [ids_of(each)[0] for each in entries if isinstance(each, _GONE)]
    back = [ids_of(each)[0] for each in entries if isinstance(each, _BACK)]
    back = [one for one in dict.fromkeys(back) if one not in gone]
    others = [e for e in entries if not isinstance(e, log.CallUndone | log.Withdrawn)]
    about = [ids_of(each)[-1 if isinstance(each, log.Made) else 0] for each in others]
    changed = [one for one in about if one not in {*gone, *back}]
    said = (
        ("Took back", await _says(desk, [*reversed(gone), *words])),
        ("Done again" if of else "Changed back", await _says(desk, changed, tagged=True)),
        ("Holds again", await _says(desk, back)),
    )
    note = " ".join(f"{what}: {says}." for what, says in said if says)
    return filled({"note": note, "id": receipt.commit_id, "fallen": gone, "holds_again": back})


async def _says(desk: Desk, ids: Sequence[str], *, tagged: bool = False) -> str:
    """Return what the first of some items say, and the number of the others."""
    found = await desk.canon.seen_by(desk.caller).things(ids)
    known = [found[one] for one in dict.fromkeys(ids) if one in found]
    rows = await rows_of(desk, [e for e in known if not isinstance(e, Tombstone | Observation)])
    texts = [str(row.get("name") or row.get("says", "")).rstrip(".") for row in rows]
    for n, row in enumerate(rows if tagged else ()):
        texts[n] += f" is {', '.join(row['tags'])}" if "tags" in row else ""
    words = Counter(one.was for one in known if isinstance(one, Tombstone))
    texts += [f"{_WORDS[was]}: {count}" for was, count in words.items() if was in _WORDS]
    texts = list(dict.fromkeys(filter(None, texts)))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return "; ".join(texts[:_NAMED]) + more
