"""What `canonry.ports.records.ledger.Ledger` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

LEDGER: Final[Mapping[str, Requirement]] = {
    "ledger:empty:head-is-origin": Requirement(
        promise="A space without commits has its head at ORIGIN and nothing to read.",
        because="Nobody asks whether a space exists before looking at its log.",
    ),
    "ledger:append:round-trip": Requirement(
        promise="A commit is read back equal to its draft, whatever its texts and numbers hold.",
        because="Provenance is worth nothing if words change on their way through a store.",
    ),
    "ledger:append:every-kind": Requirement(
        promise="Entries of every kind are stored, read back equal and folded into the views.",
        because="A kind that one backend forgets is found out when a world depends on it.",
    ),
    "ledger:append:positions-are-dense": Requirement(
        promise="Positions are 1, 2, 3, ... within a space; a refusal burns none.",
        because="A reader proves that it missed nothing by counting.",
    ),
    "ledger:append:stale-when-touched": Requirement(
        promise="A draft is Stale and not written where a later commit touched what it read.",
        because="The verdict was given on a canon that no longer exists.",
    ),
    "ledger:append:absence-can-be-read": Requirement(
        promise="A draft that read that a name is free is Stale once somebody took the name.",
        because="Most verdicts rest on something that was not there.",
    ),
    "ledger:append:untouched-reads-pass": Requirement(
        promise="A draft passes at a moved head where nobody touched what it read.",
        because="Writers of different things must not starve each other.",
    ),
    "ledger:append:any-is-everything": Requirement(
        promise="Reading ANY conflicts with each later commit, a tombstone with each reader.",
        because="A rule may look at a whole space, and an erased thing may be anything.",
    ),
    "ledger:append:spaces-are-apart": Requirement(
        promise="Commits of other spaces neither conflict nor take positions.",
        because="A space is the boundary of isolation.",
    ),
    "ledger:append:batch-ignores-itself": Requirement(
        promise="Drafts of one batch do not make each other stale.",
        because="Whoever sends a batch has judged it as a whole.",
    ),
    "ledger:append:batch-stops-at-stale": Requirement(
        promise="A stale draft and all that follow it in a batch are not written; a prefix is.",
        because="Later drafts of a batch may rest on earlier ones.",
    ),
    "ledger:append:replay-by-id": Requirement(
        promise="A commit id that is in the log is Appended there, replayed, whatever has moved.",
        because="A client that lost the answer must be able to ask again.",
    ),
    "ledger:append:replay-within-batch": Requirement(
        promise="The same commit id twice in a batch, or before and in it, is one commit.",
        because="A queue that delivers twice must not write twice.",
    ),
    "ledger:append:recorded-at-grows": Requirement(
        promise="recorded_at grows strictly within a space, also when the clock does not.",
        because="What was known at an instant must be a prefix of the log.",
    ),
    "ledger:append:no-date-by-a-wrong-clock": Requirement(
        promise="A clock that cannot be right, or lies more than a day behind the newest commit, "
        "dates nothing: the append is refused, and the log goes on when the clock is right.",
        because="A wrong date cannot be taken back, and falsifies all that follow.",
    ),
    "ledger:append:whole-or-nothing": Requirement(
        promise="A draft that cannot be folded raises, leaves no trace, and the log goes on.",
        because="Half a commit is a canon that nobody decided on.",
    ),
    "ledger:append:large": Requirement(
        promise="Commits of several megabytes are stored and read back equal.",
        because="A book is imported in one piece.",
    ),
    "ledger:append:many-at-once": Requirement(
        promise="Concurrent callers each get their own position, and every commit is there once.",
        because="Agents do not wait for each other.",
    ),
    "ledger:append:cancelled": Requirement(
        promise="A cancelled caller leaves the ledger in order, and its commit whole or not.",
        because="Clients hang up at any moment.",
    ),
    "ledger:exclusive:keeps-others-out": Requirement(
        promise="While the block runs only its own appends go through; the others come after it.",
        because="A call that lost again and again must be able to win.",
    ),
    "ledger:exclusive:ends-with-the-block": Requirement(
        promise="An error in the block, or a cancelled block, lets the others go on.",
        because="One failing call must not stop a store.",
    ),
    "ledger:find:by-id": Requirement(
        promise="find gives the commit of that id from any space, and None for an unknown id.",
        because="An idempotency key is all that a retry has.",
    ),
    "ledger:heads:paged": Requirement(
        promise="heads pages through all spaces with commits, in order of their ids.",
        because="An export must not forget a space.",
    ),
    "ledger:read:paged": Requirement(
        promise="read and read_sealed give at most `limit` commits past `after`, oldest first.",
        because="A log does not fit into memory.",
    ),
    "ledger:position-at:by-instant": Requirement(
        promise="position_at gives the last position recorded at or before an instant.",
        because="People ask by date, logs answer by position.",
    ),
    "ledger:chain:verifies": Requirement(
        promise="Sealed commits are a chain without a fault from GENESIS to the head.",
        because="The record must prove that nobody altered it.",
    ),
    "ledger:restore:byte-identical": Requirement(
        promise="What was read sealed and restored elsewhere is sealed alike, with equal views.",
        because="A copy that differs in a byte has another hash, and proves nothing.",
    ),
    "ledger:restore:refuses-what-does-not-fit": Requirement(
        promise="restore refuses a gap, a repetition and an altered commit with Conflict.",
        because="A damaged export must not become the record.",
    ),
    "ledger:touched:tells-keys": Requirement(
        promise="touched_since tells all keys touched since a cursor, and none where none were.",
        because="A cached reply lives until what it rests on is touched.",
    ),
    "ledger:touched:gives-up": Requirement(
        promise="touched_since says None for cursor 0 and after more than `limit` commits.",
        because="Forgetting everything is right, forgetting too little never.",
    ),
    "ledger:durable:reopened": Requirement(
        promise="After closing and opening, log, views and positions are what they were.",
        because="An acknowledgement is a promise about tomorrow.",
    ),
    "ledger:durable:closed": Requirement(
        promise="A closed store refuses with Unavailable `ledger.closed`.",
        because="A late call must learn that nothing was written.",
    ),
    "ledger:writers:share": Requirement(
        promise="Two instances on one store see each other's commits at once, in one order.",
        because="Each desktop client starts a server of its own.",
    ),
    "ledger:writers:conflict": Requirement(
        promise="What one instance touched makes the other's verdict stale, and ids are replayed.",
        because="The truth is one, however many processes serve it.",
    ),
    "ledger:writers:many-at-once": Requirement(
        promise="Two instances under concurrent load lose and repeat nothing.",
        because="Busy is not an answer that a client should see.",
    ),
    "ledger:writers:exclusive": Requirement(
        promise="exclusive keeps the other instance out as well, until the block ends.",
        because="The writer that starves may sit in another process.",
    ),
    "ledger:writers:touched": Requirement(
        promise="touched_since tells what other instances touched.",
        because="A cache must not outlive a change that another process made.",
    ),
}
