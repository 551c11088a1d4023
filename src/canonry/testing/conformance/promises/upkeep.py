"""What `canonry.ports.views.upkeep.Upkeep` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

UPKEEP: Final[Mapping[str, Requirement]] = {
    "upkeep:verify:good": Requirement(
        promise="verify finds nothing wrong with a good store, and tells its heads and sizes.",
        because="An alarm that rings without cause is switched off.",
    ),
    "upkeep:verify:empty": Requirement(
        promise="verify, rebuild and backup work on an empty store.",
        because="The first thing that an operator tries is an empty one.",
    ),
    "upkeep:verify:finds-altered-records": Requirement(
        promise="verify finds each alteration of records that the backend can make.",
        because="The record must prove that nobody altered it.",
    ),
    "upkeep:verify:finds-altered-views": Requirement(
        promise="verify finds each alteration of views that the backend can make.",
        because="A view that lies is believed until somebody compares.",
    ),
    "upkeep:verify:while-serving": Requirement(
        promise="verify finds nothing wrong while others write.",
        because="A store that is in use is the one to worry about.",
    ),
    "upkeep:rebuild:equals-incremental": Requirement(
        promise="Rebuilt views answer every query as the views kept up to date did.",
        because="Views are nothing but a fold of the records.",
    ),
    "upkeep:rebuild:commits-of-any-size": Requirement(
        promise="Rebuilt views find every passage of commits of 1, 127, 128 and 5,000 passages,"
        " after further commits as well.",
        because="What is brought in at once takes another way into an index than what trickles.",
    ),
    "upkeep:glance:agrees": Requirement(
        promise="glance finds nothing in good views, also while passages wait, after a rebuild,"
        " after a purge and while others write.",
        because="It is looked at after every backup, and must not cry wolf.",
    ),
    "upkeep:rebuild:repairs": Requirement(
        promise="After rebuild a store with altered views verifies and answers as before.",
        because="A view may be lost at any time.",
    ),
    "upkeep:rebuild:while-serving": Requirement(
        promise="Commits appended during a rebuild are in the rebuilt views.",
        because="Serving does not stop for upkeep.",
    ),
    "upkeep:backup:opens": Requirement(
        promise="A backup opens, holds the heads that were told, verifies and answers alike.",
        because="A backup that was never opened is a hope.",
    ),
    "upkeep:backup:while-serving": Requirement(
        promise="A backup taken while others write is a prefix of every log, and verifies.",
        because="There is no good moment to stop a world.",
    ),
    "upkeep:backup:refuses-a-used-target": Requirement(
        promise="A target that holds anything raises Conflict `backup.exists`, and is left alone.",
        because="The last good backup must survive a slip of the hand.",
    ),
    "upkeep:purge:leaves-no-trace": Requirement(
        promise="After purge no file of the store holds the erased text, nor does any view.",
        because="Erasing is a right of people, not a flag.",
    ),
    "upkeep:purge:verifies": Requirement(
        promise="After purge the chain and the views verify, and rebuild gives the same views.",
        because="Erasing must not look like tampering.",
    ),
    "upkeep:purge:restored-elsewhere": Requirement(
        promise="The log of a purged store restores elsewhere with the same answers.",
        because="A copy made after erasing must serve as well as one made before.",
    ),
    "upkeep:purge:merged": Requirement(
        promise="What was said of an erased entity is in no past of those it was merged with.",
        because="A snapshot remembers whatever was folded into it.",
    ),
    "upkeep:purge:keeps-the-rest": Requirement(
        promise="purge drops payloads of the targets only, and may be repeated.",
        because="Erasing one thing must not take its neighbours.",
    ),
    "upkeep:shared:verify-and-backup": Requirement(
        promise="What another instance wrote is verified and backed up like one's own.",
        because="An operator's command is a process beside the servers.",
    ),
    "upkeep:shared:rebuild": Requirement(
        promise="Another instance answers alike during and after a rebuild, and goes on writing.",
        because="Agents must not notice that somebody repairs the views.",
    ),
    "upkeep:shared:purge": Requirement(
        promise="A purge leaves no trace though another instance has the store open and read it.",
        because="The servers keep running while an operator erases.",
    ),
    "upkeep:orphans:kept-when-young": Requirement(
        promise="collect_orphans keeps blobs that are referred to, and those younger than a day.",
        because="A blob is written before the commit that names it.",
    ),
    "upkeep:facts:told": Requirement(
        promise="facts_about_store tells texts and numbers.",
        because="Whoever helps an operator asks for them first.",
    ),
}
