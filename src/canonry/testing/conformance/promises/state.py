"""What `canonry.ports.views.state.State` promises."""

from collections.abc import Mapping
from typing import Final

from canonry.testing.conformance.promises import Requirement

STATE: Final[Mapping[str, Requirement]] = {
    "state:things:round-trip": Requirement(
        promise="Things of every kind are found by id, equal to what was folded.",
        because="A view is the fold of the log, and nothing else.",
    ),
    "state:things:absent": Requirement(
        promise="Ids that name nothing are left out, whatever text they are; many may be asked.",
        because="Ids come from agents, and agents invent some.",
    ),
    "state:entities:tags": Requirement(
        promise="all_of, any_of and none_of select by the tags that hold now, also combined.",
        because="Who is alive and here is the most frequent question.",
    ),
    "state:entities:filters": Requirement(
        promise="Space, type, class and level select, alone and combined with tags.",
        because="A faction called like a character is not that character.",
    ),
    "state:entities:patterns": Requirement(
        promise="name_pattern is a case-insensitive substring in which only * and % are wild.",
        because="Names hold brackets, dots and underscores.",
    ),
    "state:entities:pages": Requirement(
        promise="Pages follow (created_at, id) without gap or repetition, with the exact total.",
        because="Agents count what they see.",
    ),
    "state:entities:current": Requirement(
        promise="Queries follow changes of tags, names and levels, and leave out merged ones.",
        because="An index that lags tells an old truth.",
    ),
    "state:entities:named": Requirement(
        promise="entities_named finds canon entities of a type by normalised name, oldest first.",
        because="Two names that a reader cannot tell apart are one.",
    ),
    "state:observations:order": Requirement(
        promise="observations gives exactly one entity's, past a position, in log order.",
        because="The history of an entity is told from its beginning.",
    ),
    "state:facts:overlap": Requirement(
        promise="start and end select by overlap of half-open intervals, each may be missing.",
        because="A fact that ended when another began did not hold then.",
    ),
    "state:facts:timeless": Requirement(
        promise="A fact without time overlaps everything until a later one supersedes it.",
        because="Most facts are simply true.",
    ),
    "state:facts:undated-end": Requirement(
        promise="A fact superseded without a date keeps its interval and names its heir.",
        because="Nobody knows when it ended, but that it did.",
    ),
    "state:facts:filters": Requirement(
        promise="Space, entities, level, authority and type select facts, alone and combined.",
        because="Whose word it was matters as much as what was said.",
    ),
    "state:facts:pages": Requirement(
        promise="Pages of facts follow (created_at, id) without gap, with the exact total.",
        because="A fact about two of the entities asked for is still one fact.",
    ),
    "state:facts:stating": Requirement(
        promise="facts_stating finds facts that say the same but for case and spaces.",
        because="Saying something twice does not make it two facts.",
    ),
    "state:events:order": Requirement(
        promise="Events come by their own time where known, else by their recording.",
        because="A timeline is in the order of the world.",
    ),
    "state:events:filters": Requirement(
        promise="Space, entities, scene and level select events.",
        because="A timeline of one hero is not that of the world.",
    ),
    "state:events:causes": Requirement(
        promise="causes_of finds the events that brought any of the given ones about.",
        because="Causes must not run in circles, and only this shows a circle.",
    ),
    "state:relations:direction": Requirement(
        promise="direction selects by end: out, in or any; an edge within the set comes once.",
        because="Loving is not being loved.",
    ),
    "state:relations:filters": Requirement(
        promise="Space, type and currency select; ended and retconned edges are not current.",
        because="An old alliance is history.",
    ),
    "state:relations:pages": Requirement(
        promise="Pages of relations follow (created_at, id) without gap, with the exact total.",
        because="A king has many subjects.",
    ),
    "state:spaces:filters": Requirement(
        promise="spaces selects by kind and parent, page by page.",
        because="A multiverse lists its universes.",
    ),
    "state:lists:own-space": Requirement(
        promise="axioms, sources and stories are those of one space, page by page.",
        because="A law of one world is none of another.",
    ),
    "state:history:as-known": Requirement(
        promise="things_as_known_at gives each thing as it stood after every single position.",
        because="Why something was decided shows only in what was known then.",
    ),
    "state:history:erased": Requirement(
        promise="An erased thing is told by no past: there is its tombstone, or nothing.",
        because="The past must not tell what the present forgot.",
    ),
    "state:fields:provenance": Requirement(
        promise="Each field of an entity names the observation that it comes from, after storing.",
        because="Every value can be traced to its evidence.",
    ),
    "state:reads:own-writes": Requirement(
        promise="A read that begins after an append was acknowledged sees it, in every view.",
        because="An agent reads what it has just written.",
    ),
    "state:identified:exact": Requirement(
        promise="entities_identified finds canon entities by texts they bear, oldest first.",
        because="A name, an address or a number is how people ask.",
    ),
    "state:identified:ever": Requirement(
        promise="Every text and every key that an entity ever bore leads to it, also after others.",
        because="Who knows it by a former name means it, and documents are not rewritten.",
    ),
    "state:identified:keys": Requirement(
        promise="The keys by the rules of the schema that read an observation lead to its entity.",
        because="What makes two records one entity is for their schema to say.",
    ),
    "state:merged:addressed": Requirement(
        promise="What is observed of a merged entity shows in its root, and goes when they part.",
        because="A merge that is taken back leaves what would be without it.",
    ),
    "state:entities:named-by-fields": Requirement(
        promise="What a schema has read is called by its fields, in whatever order it was told.",
        because="A display name must not depend on which document came first.",
    ),
    "state:identified:begins": Requirement(
        promise="With begins, longer texts follow the exact one; nothing is a wildcard.",
        because="A number half remembered still leads somewhere, and % is a letter like others.",
    ),
    "state:identified:merged": Requirement(
        promise="The texts of an entity merged away lead to the one that it became.",
        because="Who knew it by its old name does not know of the merge.",
    ),
    "state:entities:types": Requirement(
        promise="entity_types counts canon entities by type, whatever the type is called.",
        because="Types are open: each vocabulary brings its own.",
    ),
    "state:entities:merged-too": Requirement(
        promise="include_merged lists merged ones in their place, with the exact total.",
        because="What was merged can be looked at.",
    ),
    "state:entities:seen-until": Requirement(
        promise="entities_seen_until gives what an entity's observations until then make.",
        because="What was true then does not depend on when it was told.",
    ),
    "state:entities:sightings": Requirement(
        promise="An entity counts its observations and its members', with first and last.",
        because="A list that shows how much is known must not count it anew.",
    ),
    "state:observations:newest": Requirement(
        promise="observations_newest gives those of several entities, newest first.",
        because="The latest word is read first.",
    ),
    "state:observations:from-source": Requirement(
        promise="observations_from gives what was read from a source, in log order.",
        because="A document is asked what became of it.",
    ),
    "state:timeline:filters": Requirement(
        promise="Type, inclusive range, source and space select events, newest first.",
        because="Both ends of a week belong to it.",
    ),
    "state:timeline:together": Requirement(
        promise="Entries of one source, type and instant are one event.",
        because="A statement of ten bookings on a day is one day.",
    ),
    "state:timeline:superseded": Requirement(
        promise="Only dates that a snapshot shows are events, unless all are asked for.",
        because="A date that was put off happens once.",
    ),
    "state:relations:newest": Requirement(
        promise="newest_first turns the order of relations around, and keeps that of ids.",
        because="The last edge is the one just made.",
    ),
    "state:schemas:versions": Requirement(
        promise="schemas lists the versions of a type or of all, oldest first.",
        because="An old snapshot is read by the schema of its time.",
    ),
    "state:runs:listed": Requirement(
        promise="runs lists those over a source, runs_newest all, failed ones as well.",
        because="A quota counts them, and nobody runs one twice.",
    ),
}
