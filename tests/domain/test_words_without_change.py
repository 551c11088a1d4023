"""Words that only sound like a change: nobody dies of them, and no true statement ends by them."""

import pytest

from canonry.canon.judging.conflicts import Order, find_clash
from canonry.language.reading.reading import read_statements
from canonry.values.attributes.table import find_attribute
from canonry.values.statements import Phase

NAMES = {"Ana": "ana", "Bo": "bo", "Tom": "tom", "Velm": "velm", "Bree": "bree"}


def states_in(text: str) -> list[str]:
    """The states that a text sets: those that hold now, begin or end, without what follows."""
    return [
        f"{one.subject} {one.value}"
        for one in read_statements(text, NAMES)
        if one.holds_then is not None and find_attribute(one.attribute).exclusive
        if not (one.implied and one.phase is Phase.ENDS)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ana is dying.",
        "Bo met his match at Velm.",
        "Bo nearly fell from the wall to his death.",
        "Bo fell from grace.",
        "Ana feared that Bo would be thrown to his death.",
        "Bo was killing Ana.",
        "Ana is being executed.",
        "Ana was drowning.",
        "The guards are freeing Ana.",
        "Marie mourait.",
        "Bo se moría.",
    ],
)
def test_an_ongoing_action_has_not_ended(text: str) -> None:
    assert states_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ana can die.",
        "Bo sleeps in chainmail.",
        "Bo kicked Ana out.",
        "Bo was turned into a laughing stock.",
        "Bo sleeps with a dagger.",
        "Bo schläft mit einem Dolch.",
        "Ana can escape.",
        "Ana gets killed every night.",
        "Ana dies every evening.",
        "Bo wakes at six.",
    ],
)
def test_a_possible_or_recurring_action_is_no_change(text: str) -> None:
    assert states_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ana or Bo died.",
        "Either Ana or Bo was killed.",
        "Ana is dead or missing.",
        "Ana died or fled.",
        "Bo tötete Ana oder Tom.",
        "Bo a tué Ana ou Tom.",
        "Bo mató a Ana o a Tom.",
    ],
)
def test_one_of_two_alternatives_is_neither(text: str) -> None:
    assert states_in(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Ana is dead, said Bo.",
        '"Ana is dead," Bo said.',
        "Ana died, or so Bo claims.",
        "Ana died, as the old men tell.",
        "Ana est morte, dit Bo.",
        "Ana está muerta, dijo Bo.",
        "Ana ist tot, sagt Bo.",
        "When Ana dies, Bo inherits.",
        "Bo wants to quit his job.",
        "Bo hopes he has recovered by Sunday.",
        "Bo never got over it.",
        "Bo might be made redundant.",
        "Ana will graduate next year.",
        "Ana never reopened.",
    ],
)
def test_speech_and_expectations_are_not_facts(text: str) -> None:
    assert states_in(text) == []


def test_a_statement_in_the_speakers_own_name_is_read() -> None:
    assert states_in("Bo, the smith, died.") == ["bo dead"]
    assert states_in("Bo wrote a book, and Ana died.") == ["ana dead"]


@pytest.mark.parametrize(
    "text",
    [
        "Bo escaped the question.",
        "Ana escaped notice.",
        "Bo recovered the sword.",
        "Bo succumbed to temptation.",
        "Ana drowned in applause.",
        "Ana was murdered at chess.",
        "Bo destroyed Ana at tennis.",
        "Ana was hanged in effigy.",
        "Bo was killed off in season two.",
        "Ana died on that hill.",
        "Bo was buried alive.",
        "Ana buried Bo in paperwork.",
        "Bo ertrank in Arbeit.",
        "Ana se ahogó en un vaso de agua.",
        "Ana mató a Bo en el juego.",
        "Bo resigned himself to his fate.",
        "Ana stepped down from the cart.",
        "Bo nearly gave up smoking.",
        "Bo did not give up the throne.",
        "Ana would step down.",
        "Ana and Bo separated the eggs.",
        "Bo was eaten up by jealousy.",
        "Bo went to the prison to see Ana.",
        "Ana was sent to the tower with a letter.",
        "Tom did not let Ana go.",
        "Ana gave up the ghost story halfway.",
        "Ana let Bo go home early.",
        "Ana let Bo go first.",
        "Ana freed Bo from his promise.",
        "Bo was released from his vow.",
        "Ana came to an agreement.",
        "Bo came round to the idea.",
        "Bo passed out the letters.",
        "Ana was knocked out of the tournament.",
        "Bo came back as a ghost of his former self.",
        "Ana came back from the underworld market.",
        "Bo was petrified of spiders.",
        "Ana was paralysed by fear.",
        "The door nearly slammed shut.",
        "Bo wants to kick the door in.",
        "Bo sank into a chair.",
        "The ship almost sank.",
        "The guild nearly broke up.",
        "Velm fell to the ground.",
        "Bo fell to his knees.",
        "Bo betrayed the guild.",
        "Bo dreamed that he was no longer king.",
        "Bo went down to the cellar.",
    ],
)
def test_a_figure_of_speech_kills_frees_and_heals_nobody(text: str) -> None:
    assert states_in(text) == []


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("Ana drowned in the cold river.", "ana dead"),
        ("Ana drowned in Velm.", "ana dead"),
        ("Ana escaped from prison.", "ana free"),
        ("Bo recovered.", "bo healthy"),
        ("Bo was buried in Bree.", "bo dead"),
        ("Ana was killed on the third of May.", "ana dead"),
        ("Ana died on the first of March 1402.", "ana dead"),
    ],
)
def test_literal_meanings_are_still_read(text: str, state: str) -> None:
    assert state in states_in(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ana walked past Velm.",
        "Ana rode towards Velm.",
        "Ana set out for Velm.",
        "Ana nearly reached Velm.",
        "Ana tried to reach Velm.",
        "Ana never went to Velm.",
        "Ana dreamed that she rode to Velm.",
        "They say that Ana fled to Velm.",
        "Ana plans to sail to Velm.",
        "Ana was riding to Velm.",
        "Ana had ridden to Velm.",
        "Ana used to ride to Velm.",
        "Ana goes to Velm.",
        "Ana rides to Velm every week.",
        "The road runs to Velm.",
        "Ana went to sleep.",
        "Ana went to war.",
        "Ana went to the market.",
        "Ana walked in Velm.",
        "Ana returned the book to Velm.",
        "Ana often walked to Velm.",
        "Ana wanderte in Velm.",
        "Ana will nach Velm reiten.",
        "Ana veut aller à Velm.",
        "Ana pasó por Velm.",
    ],
)
def test_who_only_goes_about_is_in_no_other_place(text: str) -> None:
    assert [
        one
        for one in read_statements(text, NAMES)
        if one.attribute == "location" and one.holds_then and not one.qualifiers
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "Ana nearly dropped the sword.",
        "Ana dreamed that she dropped the sword.",
        "Ana wants to throw the sword into the lake.",
        "Bo almost stole the sword.",
        "Ana never threw the sword away.",
        "Ana was putting the sword down.",
        "Ana showed Bo the sword.",
        "Ana threw Bo a glance.",
        "Ana took a look at the sword.",
        "Ana handed the sword to Bo, who refused it.",
        "Ana may give up the sword.",
    ],
)
def test_a_sword_that_nobody_gave_up_is_still_carried(text: str) -> None:
    ties = {"carrier", "holder", "wielder", "location"}
    assert [one for one in read_statements(text, NAMES) if one.attribute in ties] == []


@pytest.mark.parametrize("order", [Order.ONE, Order.LATER])
@pytest.mark.parametrize(
    ("held", "said"),
    [
        ("Ana is married to Bo.", "Ana was married to Tom."),
        ("Ana is married to Bo.", "Ana divorced Tom."),
        ("Ana died in Velm.", "Ana was buried in Bree."),
        ("The shop is closed on Sundays.", "The shop opens at 9."),
        ("Ana is a member of the guild.", "Ana can leave the guild."),
        ("Ana lives in Velm.", "Ana is moving to Bree."),
        ("Ana lives in Velm.", "Ana can move to Bree."),
        ("Bo leads the guild.", "Ana can lead the guild."),
        ("Ana is imprisoned.", "Ana escapes every night."),
        ("Ana is in Velm.", "Ana is in danger."),
        ("Ana is in the tower.", "Ana is at peace."),
        ("Ana stands at the door.", "Ana stands in line."),
        ("Ana is in the office.", "Ana is on the team."),
        ("Ana is in Velm.", "Ana is in the kitchen."),
        ("Ana is in Velm.", "Ana is in a hurry."),
        ("Marie est à Velm.", "Marie est en danger."),
        ("Ana está en Velm.", "Ana está en peligro."),
    ],
)
def test_compatible_statements_end_neither(held: str, said: str, order: Order) -> None:
    claims, standing = read_statements(said, NAMES), read_statements(held, NAMES)

    assert [find_clash(one, two, order=order) for one in standing for two in claims] == [None] * (
        len(standing) * len(claims)
    )


def test_a_later_place_of_one_kind_still_ends_the_earlier() -> None:
    [bree] = read_statements("Ana is in Bree.", NAMES)
    [velm] = read_statements("Ana is in Velm.", NAMES)
    clash = find_clash(velm, bree, order=Order.LATER)

    assert clash is not None
    assert clash.ends_earlier


def test_a_divorce_still_ends_its_own_marriage() -> None:
    ended = [one for one in read_statements("Ana divorced Bo.", NAMES) if one.phase is Phase.ENDS]
    [wed, *_] = read_statements("Ana is married to Bo.", NAMES)

    assert any((clash := find_clash(wed, one)) and clash.ends_earlier for one in ended)


@pytest.mark.parametrize(
    "text",
    [
        "Ana lives in Velm from 1405 to 1410.",
        "Ana lived at Bree from 1405 to 1410.",
        "Ana lives with Bo from May to June.",
        "Ana lives from hand to mouth.",
    ],
)
def test_a_home_for_some_years_is_no_lifetime(text: str) -> None:
    said = {one.attribute for one in read_statements(text, NAMES)}

    assert said.isdisjoint({"birth_date", "death_date"})
    assert "ana dead" not in states_in(text)


def test_a_numbered_object_gives_no_version_of_its_owner() -> None:
    first, second = (read_statements(f"Ana owns boat {one}.", NAMES) for one in (1, 2))

    assert [find_clash(one, two) for one in first for two in second] == [None] * (
        len(first) * len(second)
    )
