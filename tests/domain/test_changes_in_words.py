"""Deaths and other changes in whatever words, and lookalikes that change nothing."""

from collections.abc import Iterator

import pytest

from canonry.language.reading.reading import read_statements
from canonry.values.statements import Modality, Phase, Statement

NAMES = {name: f"{name}-1" for name in ("Ana", "Bo", "Zed", "Velm", "Pierre", "Marta")}
NAMES |= {name: f"{name}-1" for name in ("Lamp", "Key", "Gate", "Sword")}

DEATHS = [
    "Bo died.",
    "Bo died in the night.",
    "Bo was killed by Zed.",
    "Zed killed Bo.",
    "Zed has killed Bo.",
    "Bo has died.",
    "Bo has been murdered.",
    "Bo was found dead in the cellar.",
    "Bo drowned in the lake.",
    "Bo was hanged at dawn.",
    "Bo succumbed to his wounds.",
    "Bo perished in the fire.",
    "Bo lost his life in the battle.",
    "Bo fell at the battle of Velm.",
    "Bo passed away last spring.",
    "Bo is dead and buried.",
    "Bo is no longer alive.",
    "Bo bled to death.",
    "Bo was stabbed to death by Zed.",
    "The wolves killed Bo.",
    "Bo was executed for treason.",
    "Bo took his own life.",
    "Zed slew Bo with a spear.",
    "Bo starved to death in the tower.",
    "Bo was buried in Velm.",
    "Bo has been dead for a year.",
    "Killed by Zed, Bo was buried in Velm.",
    "Bo got killed in the raid.",
    "Bo met his end in the mine.",
    "Bo was beheaded.",
    "Bo did not survive the fall.",
    "Bo was shot dead.",
    "Bo was put to the axe by the raiders.",
    "Bo had his throat cut in the night.",
    "Bo bled out on the steps.",
    "Bo fell to his death.",
    "Bo gave his life for Velm.",
    "Zed ran Bo through.",
    "The old smith Bo died.",
    "The fever carried Bo off.",
    "Bo was eaten by a dragon.",
    "They found Bo's body in the river.",
    "They hanged Bo at dawn.",
    "Bo ist gestorben.",
    "Bo wurde von Zed getötet.",
    "Zed hat Bo ermordet.",
    "Bo ist im See ertrunken.",
    "Bo est mort.",
    "Bo a été tué par Zed.",
    "Zed a tué Bo.",
    "Bo s'est noyé dans le lac.",
    "Bo ha muerto.",
    "Bo fue asesinado por Zed.",
    "Zed mató a Bo.",
    "Bo se ahogó en el río.",
    "Bo kam bei dem Brand ums Leben.",
    "Bo est décédé en 1402.",
    "Bo falleció en 1402.",
]

LOOKALIKES = [
    "Ana dreams that Bo is dead.",
    "Bo is dead tired.",
    "Bo nearly died.",
    "Bo is believed dead.",
    "Rumour has it that Bo is dead.",
    "Bo plays dead.",
    "Bo's father is dead.",
    "If the bridge falls, Bo is dead.",
    "Bo is dying to see Ana.",
    "Bo died laughing.",
    "Bo killed time at the inn.",
    "Bo is as good as dead.",
    "Zed wants to kill Bo.",
    "Zed tried to kill Bo.",
    "Zed did not kill Bo.",
    "Bo was almost killed.",
    "Bo may be dead.",
    "Is Bo dead?",
    "Headline: Bo dead?",
    "In the play, Bo dies.",
    "Bo would have died without Ana.",
    "Bo's horse died.",
    "Bo killed Zed.",
    "Bo buried Zed.",
    "Bo fears death.",
    "Zed threatened to kill Bo.",
    "Bo could have died.",
    "Bo is dead to me.",
    "Bo drowned his sorrows.",
    "Bo is buried in work.",
    "The killer of Zed is Bo.",
    "Bo survived.",
    "Zed says that he killed Bo.",
    "Bo is not dead.",
    "Bo thought he was dead.",
    "Bo will die one day.",
    "Bo is prepared to die.",
    "Bo was left for dead.",
    "Bo's hopes died.",
    "Bo almost drowned.",
    "Bo faked his death.",
    "Bo was sentenced to death.",
    "Bo narrowly escaped death.",
    "Bo is deadly.",
    "Bo träumt, dass er tot ist.",
    "Bo ist todmüde.",
    "Bo wäre fast gestorben.",
    "Ana glaubt, dass Bo tot ist.",
    "Bo est mort de fatigue.",
    "Bo est mort de rire.",
    "Bo a failli mourir.",
    "Marta rêve que Bo est mort.",
    "Bo casi muere.",
    "Bo está muerto de hambre.",
    "Ana cree que Bo está muerto.",
    "Bo se muere de risa.",
    "Bo is the death of me.",
    "Bo's phone is dead.",
    "Bo murdered the song.",
    "Bo killed it on stage.",
    "Bo was killed in the video game.",
    "Bo saw Zed die.",
    "Bo escaped the hangman.",
    "Bo was to be hanged.",
    "Bo was about to be killed.",
    "Nobody killed Bo.",
    "Bo dies in the prophecy.",
    "Bo pretended to have died.",
    "It is not true that Bo died.",
    "Bo never died.",
    "Bo is half dead.",
]

OVER = [
    ("Ana was sacked by Velm last week.", "Ana", "employer", "Velm-1"),
    ("Ana handed in her notice at Velm.", "Ana", "employer", "Velm-1"),
    ("Ana and Bo went their separate ways.", "Ana", "partner", "Bo-1"),
    ("Ana gave Bo his ring back.", "Ana", "betrothed", "Bo-1"),
    ("The divorce of Ana and Bo came through in June.", "Ana", "spouse", "Bo-1"),
    ("Ana gave birth to a girl.", "Ana", "pregnancy", "pregnant"),
    ("Bo was fired from Velm.", "Bo", "employer", "Velm-1"),
    ("Ana stepped down as captain of Velm.", "Velm", "role:captain", "Ana-1"),
    ("Ana broke off her engagement to Bo.", "Ana", "betrothed", "Bo-1"),
    ("The Lamp is not burning.", "Lamp", "light", "lit"),
    ("Ana came home from the hospital.", "Ana", "is:in_hospit", "~hospit"),
    ("Ana has been discharged.", "Ana", "is:in_hospit", "~hospit"),
    ("The siege of Velm was lifted.", "Velm", "is:under_sieg", "~sieg"),
    ("Zed raised the siege of Velm.", "Velm", "is:under_sieg", "~sieg"),
    ("Bo has fully recovered.", "Bo", "has:ill", "~ill"),
    ("Bo got over it in a week.", "Bo", "has:ill", "~ill"),
    ("Ana lost the baby in the spring.", "Ana", "pregnancy", "pregnant"),
    ("Ana has turned on Velm.", "Velm", "ally", "Ana-1"),
    ("Ana tore up the pact with Velm.", "Velm", "ally", "Ana-1"),
    ("Ana surrendered to Bo.", "Bo", "enemy", "Ana-1"),
    ("The war between Ana and Bo is over.", "Ana", "enemy", "Bo-1"),
    ("Ana went home from hospital in a wheelchair.", "Ana", "is:in_hospit", "~hospit"),
    ("Bo was drunk yesterday.", "Bo", "sobriety", "drunk"),
    ("Bo fled from Velm.", "Bo", "location", "Velm-1"),
    ("The Velm drummed out Bo.", "Bo", "membership", "Velm-1"),
    ("Bo quit the Velm.", "Bo", "membership", "Velm-1"),
    ("Bo is no longer with the Velm.", "Bo", "membership", "Velm-1"),
    ("Bo defected to the Gate.", "Bo", "membership", None),
    ("Velm expulsó a Bo.", "Bo", "membership", "Velm-1"),
    ("Bo a été exclu de Velm.", "Bo", "membership", "Velm-1"),
    ("Bo ist kein König mehr.", "Bo", "is:könig", "~könig"),
    ("Bo hurled the Key into the river.", "Key", "carrier", None),
    ("Bo laid the Key down.", "Key", "carrier", None),
    ("Bo lost the Key to Ana at cards.", "Key", "holder", "Bo-1"),
    ("The Key slid from Bo's belt.", "Key", "carrier", None),
    ("The Key was stolen in the night.", "Key", "carrier", None),
    ("Ana relieved Bo of the Key.", "Key", "holder", "Bo-1"),
    ("The Key was taken from Bo.", "Key", "holder", "Bo-1"),
    ("Bo ceded the Key.", "Key", "holder", "Bo-1"),
    ("Bo does not have the Key any more.", "Key", "holder", "Bo-1"),
    ("Bo sheathed the Sword.", "Sword", "wielder", "Bo-1"),
    ("Bo climbed out of Velm.", "Bo", "location", "Velm-1"),
    ("Bo floh aus Velm.", "Bo", "location", "Velm-1"),
    ("Bo huyó de Velm.", "Bo", "location", "Velm-1"),
]

CHANGES = [
    ("Zed imprisoned Bo.", "Bo", "freedom", "imprisoned"),
    ("Bo was arrested.", "Bo", "freedom", "imprisoned"),
    ("Bo was thrown into the dungeon.", "Bo", "freedom", "imprisoned"),
    ("Bo was taken prisoner by Zed.", "Bo", "freedom", "imprisoned"),
    ("Zed freed Bo.", "Bo", "freedom", "free"),
    ("Bo was released from prison.", "Bo", "freedom", "free"),
    ("Bo escaped from prison.", "Bo", "freedom", "free"),
    ("Bo broke out of jail.", "Bo", "freedom", "free"),
    ("Bo was set free.", "Bo", "freedom", "free"),
    ("Ana married Bo.", "Ana", "marital", "married"),
    ("Ana and Bo got married.", "Ana", "marital", "married"),
    ("The healer cured Bo.", "Bo", "health", "healthy"),
    ("Bo recovered from the fever.", "Bo", "health", "healthy"),
    ("Bo fell ill.", "Bo", "health", "sick"),
    ("Zed took over Velm from Ana.", "Velm", "leader", "Zed-1"),
    ("Zed used up the Key.", "Key", "condition", "consumed"),
    ("The Key was eaten.", "Key", "condition", "consumed"),
    ("Bo left the Key in Velm.", "Key", "location", "Velm-1"),
    ("Ana wears the Key.", "Key", "wearer", "Ana-1"),
    ("Zed is Ana's prisoner.", "Zed", "freedom", "imprisoned"),
    ("Bo was wounded by an arrow.", "Bo", "health", "wounded"),
    ("Bo caught the plague.", "Bo", "health", "sick"),
    ("The Gate was burnt down.", "Gate", "condition", "destroyed"),
    ("Bo slipped his chains.", "Bo", "freedom", "free"),
    ("After Bo's release, Ana wept.", "Bo", "freedom", "free"),
    ("After his release, Bo found work.", "Bo", "freedom", "free"),
    ("Since Bo's resignation, nobody has kept the books.", "Bo", "post", "out_of_post"),
    ("Bo was made redundant in May.", "Bo", "post", "out_of_post"),
    ("Bo quit his job.", "Bo", "post", "out_of_post"),
    ("Bo was voted out, and Ana wept.", "Bo", "tenure", "out_of_office"),
    ("Bo graduated in May.", "Bo", "schooling", "out_of_school"),
    ("Bo dropped out of university.", "Bo", "schooling", "out_of_school"),
    ("Ana and Bo tied the knot in June.", "Ana", "marital", "married"),
    ("The lock on the Gate was forced.", "Gate", "lock", "unlocked"),
    ("The Gate has reopened.", "Gate", "openness", "open"),
    ("Bo got out of bed.", "Bo", "wakefulness", "awake"),
    ("Bo made his escape.", "Bo", "freedom", "free"),
    ("Zed pardoned Bo.", "Bo", "freedom", "free"),
    ("Bo is held in a cell.", "Bo", "freedom", "imprisoned"),
    ("Bo rode to Velm.", "Bo", "location", "Velm-1"),
    ("The Gate broke up.", "Gate", "condition", "destroyed"),
    ("Velm wurde aufgelöst.", "Velm", "condition", "destroyed"),
    ("Zed seized the throne of Velm from Bo.", "Bo", "tenure", "out_of_office"),
    ("Zed usurped the throne of Velm.", "Velm", "ruler", "Zed-1"),
    ("Velm fell to Zed.", "Velm", "holder", "Zed-1"),
    ("Velm was overrun by Zed.", "Velm", "holder", "Zed-1"),
    ("Zed retook Velm.", "Velm", "holder", "Zed-1"),
    ("Bo declared war on Zed.", "Zed", "enemy", "Bo-1"),
    ("Bo and Zed went to war.", "Bo", "enemy", "Zed-1"),
    ("The Gate banged shut behind Bo.", "Gate", "openness", "closed"),
    ("The Gate was slammed shut.", "Gate", "openness", "closed"),
    ("Bo yanked the Gate shut.", "Gate", "openness", "closed"),
    ("The Gate creaked open.", "Gate", "openness", "open"),
    ("Bo shoved the Gate open.", "Gate", "openness", "open"),
    ("Bo left the Gate open.", "Gate", "openness", "open"),
    ("The Gate was battered down by the raiders.", "Gate", "lock", "unlocked"),
    ("Bo kicked the Gate in.", "Gate", "condition", "broken"),
    ("Ana pieced the Lamp back together.", "Lamp", "condition", "whole"),
    ("The Sword was sunk in a storm.", "Sword", "floating", "sunk"),
    ("The Sword went down with all hands.", "Sword", "floating", "sunk"),
    ("The Sword was raised from the sea bed.", "Sword", "floating", "afloat"),
    ("Divers lifted the Sword.", "Sword", "floating", "afloat"),
    ("Bo poured out the Lamp.", "Lamp", "condition", "consumed"),
    ("Die Lamp fiel zu.", "Lamp", "openness", "closed"),
    ("Bo stieß die Lamp auf.", "Lamp", "openness", "open"),
    ("La Lamp se referma.", "Lamp", "openness", "closed"),
    ("Die Lamp ging unter.", "Lamp", "floating", "sunk"),
    ("La Lamp a sombré.", "Lamp", "floating", "sunk"),
    ("La Lamp naufragó.", "Lamp", "floating", "sunk"),
    ("Bo stashed the Key under the Gate.", "Key", "location", "Gate-1"),
    ("Bo put the Key back in the chest.", "Key", "location", "~chest"),
    ("Bo hung the Lamp on the Gate.", "Lamp", "location", "Gate-1"),
    ("Ana swiped the Key.", "Key", "holder", "Ana-1"),
    ("Ana won the Key from Bo at dice.", "Key", "holder", "Ana-1"),
    ("Bo left the Key in Ana's hands.", "Key", "location", "~hand of:Ana-1"),
    ("Bo left the Key in the care of Ana.", "Key", "holder", "Ana-1"),
    ("Ana was given the Key by Bo.", "Key", "holder", "Ana-1"),
    ("Ana now has Key.", "Key", "holder", "Ana-1"),
    ("Bo passed the Key to Ana, who hid it.", "Key", "holder", "Ana-1"),
    ("Bo crept back into Velm at dusk.", "Bo", "location", "Velm-1"),
    ("Bo went up to Velm.", "Bo", "location", "Velm-1"),
    ("Bo sneaked aboard the Lamp.", "Bo", "location", "Lamp-1"),
    ("Bo climbed out of the Gate into Velm.", "Bo", "location", "Velm-1"),
    ("Bo made his way to Velm.", "Bo", "location", "Velm-1"),
    ("Bo walks from the Gate into Velm.", "Bo", "location", "Velm-1"),
    ("Bo has returned to Velm.", "Bo", "location", "Velm-1"),
    ("Bo reached Velm on foot.", "Bo", "location", "Velm-1"),
    ("Bo took shelter in Velm.", "Bo", "location", "Velm-1"),
    ("Bo was dragged to Velm by Zed.", "Bo", "location", "Velm-1"),
    ("Zed led Bo into Velm.", "Bo", "location", "Velm-1"),
    ("The Key was carried to Velm.", "Key", "location", "Velm-1"),
    ("The Lamp rolled into Velm.", "Lamp", "location", "Velm-1"),
    ("Bo ist nach Velm geritten.", "Bo", "location", "Velm-1"),
    ("Bo schlich in die Velm.", "Bo", "location", "Velm-1"),
    ("Bo wurde nach Velm gebracht.", "Bo", "location", "Velm-1"),
    ("Bo kam in Velm an.", "Bo", "location", "Velm-1"),
    ("Bo est revenu à Velm.", "Bo", "location", "Velm-1"),
    ("Bo s'est enfui à Velm.", "Bo", "location", "Velm-1"),
    ("Zed a emmené Bo à Velm.", "Bo", "location", "Velm-1"),
    ("Bo fue a Velm.", "Bo", "location", "Velm-1"),
    ("Bo huyó a Velm.", "Bo", "location", "Velm-1"),
    ("Bo entró en Velm.", "Bo", "location", "Velm-1"),
    ("The crew stripped Ana of her command.", "Ana", "tenure", "out_of_office"),
    ("Ana gave up the throne.", "Ana", "tenure", "out_of_office"),
    ("Ana stepped down.", "Ana", "tenure", "out_of_office"),
    ("Bo handed the Key over to Ana.", "Key", "holder", "Ana-1"),
    ("Bo was promoted to colonel.", "Bo", "rank", "colonel"),
    ("Ana snuffed out the Lamp.", "Lamp", "light", "extinguished"),
    ("Bo got better.", "Bo", "health", "healthy"),
    ("Ana nursed Bo back to health.", "Bo", "health", "healthy"),
    ("The guards threw Bo into the dungeon.", "Bo", "freedom", "imprisoned"),
    ("Bo was clapped in irons.", "Bo", "freedom", "imprisoned"),
    ("The judge let Bo go.", "Bo", "freedom", "free"),
    ("Bo dug his way out of the prison.", "Bo", "freedom", "free"),
    ("Ana handed the throne to Bo.", "Ana", "tenure", "out_of_office"),
    ("Ana picked the lock of the Gate.", "Gate", "lock", "unlocked"),
    ("The Gate was forced open.", "Gate", "openness", "open"),
    ("Bo barred the Gate.", "Gate", "lock", "locked"),
    ("Ana smashed the Lamp to pieces.", "Lamp", "condition", "broken"),
    ("The Key passed to Bo.", "Key", "owner", "Bo-1"),
    ("Bo regained his freedom.", "Bo", "freedom", "free"),
    ("Bo sobered up.", "Bo", "sobriety", "sober"),
    ("Bo took over as captain of Velm.", "Velm", "role:captain", "Bo-1"),
    ("Bo has seen ninety winters and is a smith.", "Bo", "is:smith", "~smith"),
    ("Bo gave up smoking.", "Bo", "smoking", "non-smoking"),
    ("The old server Velm came back online.", "Velm", "working", "working"),
    ("Velm merged with Bree.", "Velm", "independence", "dependent"),
    ("Bo turned forty last week and is a smith.", "Bo", "is:smith", "~smith"),
    ("Bo the smith is in irons.", "Bo", "freedom", "imprisoned"),
    ("Little Bo is a prisoner in Velm.", "Bo", "freedom", "imprisoned"),
    ("The Sword broke.", "Sword", "condition", "broken"),
    ("Ana mended the Sword.", "Sword", "condition", "whole"),
    ("The Sword has been repaired.", "Sword", "condition", "whole"),
    ("Ana lit the Lamp.", "Lamp", "light", "lit"),
    ("Ana put out the Lamp.", "Lamp", "light", "extinguished"),
    ("Ana locked the Gate.", "Gate", "lock", "locked"),
    ("The Gate was unlocked by Bo.", "Gate", "lock", "unlocked"),
    ("Ana opened the Gate.", "Gate", "openness", "open"),
    ("Bo fell asleep.", "Bo", "wakefulness", "asleep"),
    ("Bo woke up.", "Bo", "wakefulness", "awake"),
    ("Bo is asleep now.", "Bo", "wakefulness", "asleep"),
    ("Bo was poisoned.", "Bo", "health", "poisoned"),
    ("Zed resurrected Bo.", "Bo", "life", "alive"),
    ("Bo was called back from the underworld.", "Bo", "life", "alive"),
    ("Zed brought Bo back to life in Velm.", "Bo", "life", "alive"),
    ("Bo rose from the grave as a zombie.", "Bo", "life", "undead"),
    ("Zed turned Bo into a vampire.", "Bo", "life", "undead"),
    ("Bo lost consciousness.", "Bo", "wakefulness", "unconscious"),
    ("Zed struck Bo unconscious.", "Bo", "wakefulness", "unconscious"),
    ("Bo came round after an hour.", "Bo", "wakefulness", "awake"),
    ("Bo returned to consciousness.", "Bo", "wakefulness", "awake"),
    ("Bo was cursed by the old king.", "Bo", "affliction", "cursed"),
    ("Zed turned Bo to stone.", "Bo", "affliction", "petrified"),
    ("Ana smuggled Bo out of the prison.", "Bo", "freedom", "free"),
    ("A spider bit Bo, and he was poisoned.", "Bo", "health", "poisoned"),
    ("Bo got drunk.", "Bo", "sobriety", "drunk"),
    ("Ana became pregnant.", "Ana", "pregnancy", "pregnant"),
    ("The Sword was shattered by Zed.", "Sword", "condition", "broken"),
    ("Velm was razed to the ground.", "Velm", "condition", "destroyed"),
]

REPLACED = [
    "The new crew of Velm is 30.",
    "The newer crew of Velm is 30.",
    "The revised crew of Velm is now 30.",
    "From now on, the crew of Velm is 30.",
    "The crew of Velm is 30, which replaces 20.",
    "The crew of Velm is 30 (replaces 20).",
    "The crew of Velm is 30, up from 20.",
    "The crew of Velm is 30 instead of 20.",
    "30 replaces 20 as the crew of Velm.",
]


def read_about(name: str, text: str) -> Iterator[Statement]:
    """Yield the statements of a text about somebody that are certain and without a condition."""
    for one in read_statements(text, NAMES):
        plain = one.modality is Modality.ASSERTED and not one.qualifiers and not one.quantifier
        if one.subject == NAMES[name] and one.holds_then and plain:
            yield one


def says_death(text: str) -> bool:
    """Return whether a text says that Bo is dead."""
    phases = {Phase.BEGINS, Phase.IS}
    return any(
        (one.attribute, one.value) == ("life", "dead") and one.phase in phases
        for one in read_about("Bo", text)
    )


@pytest.mark.parametrize("text", DEATHS)
def test_a_death_is_read_in_any_words(text: str) -> None:
    assert says_death(text)


@pytest.mark.parametrize("text", REPLACED)
def test_a_value_that_replaces_another_begins(text: str) -> None:
    assert [one.phase for one in read_about("Velm", text) if one.attribute == "measure:crew"] == [
        Phase.BEGINS
    ]


@pytest.mark.parametrize(
    "text", ["Ana is the new captain of Velm.", "Ana succeeded Bo as captain of Velm."]
)
def test_a_new_office_holder_takes_the_office_over(text: str) -> None:
    assert ("role:captain", NAMES["Ana"], Phase.BEGINS) in [
        (one.attribute, one.value, one.phase) for one in read_about("Velm", text)
    ]


@pytest.mark.parametrize("text", LOOKALIKES)
def test_words_that_only_sound_like_a_death_kill_nobody(text: str) -> None:
    assert not says_death(text)


@pytest.mark.parametrize(("text", "name", "attribute", "value"), CHANGES)
def test_a_change_is_read_in_any_words(text: str, name: str, attribute: str, value: str) -> None:
    assert (attribute, value) in {(one.attribute, one.value) for one in read_about(name, text)}


@pytest.mark.parametrize(("text", "name", "attribute", "value"), OVER)
def test_what_is_over_is_read_in_any_words(
    text: str, name: str, attribute: str, value: str
) -> None:
    assert (attribute, value) in {
        (one.attribute, one.value)
        for one in read_statements(text, NAMES)
        if one.subject == NAMES[name] and not one.holds_then
    }
