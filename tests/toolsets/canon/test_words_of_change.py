"""Words of change end earlier statements in whatever form; lookalikes and other values do not."""

import re

import pytest

from tests.toolsets.canon.talking import (
    claim_fact,
    claim_relation,
    grades_in,
    last_verdict,
    start_talk,
)

pytestmark = pytest.mark.anyio

KNOWN = {"Ruth": "person", "Odo": "person", "Pia": "person", "Gero": "person", "Rex": "dog"}
KNOWN |= {"Nordbau": "company", "Kolibri": "company", "ledger": "service", "search": "service"}
KNOWN |= {"Opel": "car", "The_Webers": "family", "CASE-9": "ticket", "Ramipril": "medication"}
_RELATION = re.compile(r"(\w+) ([A-Z_]+) (\w+)")

ENDS = [
    # medicine, drinks and habits, whatever else was told of them
    ("Ruth takes 10 mg of ramipril", "Ruth no longer takes ramipril"),
    ("Ruth takes ramipril 10 mg twice a day", "Ruth came off ramipril in October"),
    ("Ruth is on 75 mg of clopidogrel", "Ruth has stopped taking clopidogrel"),
    ("Ruth takes two tablets of metformin a day", "The doctor took Ruth off metformin"),
    ("Ruth takes 10 mg of Ramipril", "Ruth was switched from Ramipril to enalapril"),
    ("Ruth takes 10 mg of ramipril", "Ruth takes 20 mg of enalapril instead of ramipril"),
    ("Ruth takes sertraline with breakfast", "Ruth is off sertraline"),
    ("Rex gets 20 mg of carprofen a day", "Rex no longer gets carprofen"),
    ("Ruth takes 10 mg of ramipril", "Ruth takes no medication any more"),
    ("Odo drinks two litres of cola a day", "Odo switched from cola to water"),
    ("Odo plays handball on Tuesdays", "Odo has stopped playing handball"),
    ("Odo isst Fleisch", "Odo isst kein Fleisch mehr"),
    ("Odo trinkt Bier", "Odo trinkt jetzt Wasser statt Bier"),
    ("Ruth prend 10 mg de ramipril", "Ruth ne prend plus de ramipril"),
    ("Ruth toma 10 mg de ramipril", "Ruth ya no toma ramipril"),
    # war and peace, trials, ships, wills and other turns of a story
    ("Nordbau and Kolibri have a truce", "Nordbau declared war on Kolibri"),
    ("Nordbau and Kolibri are at peace", "Kolibri invaded Nordbau"),
    ("Nordbau has an armistice with Kolibri", "Nordbau broke the armistice with Kolibri"),
    ("Nordbau is a vassal of Kolibri", "Nordbau won its independence from Kolibri"),
    ("Pia is loyal to Gero", "Pia betrayed Gero"),
    ("Pia is loyal to Gero", "Pia turned against Gero"),
    ("Pia is accused of theft", "Pia was acquitted"),
    ("Pia is accused of arson", "Pia has been cleared"),
    ("The Opel is anchored in the bay", "The Opel weighed anchor"),
    ("The Opel is moored at the quay", "The Opel put to sea"),
    ("Pia is captain of the Opel", "The sailors made Gero captain of the Opel"),
    ("Pia is the chief of Nordbau", "They elected Gero chief of Nordbau"),
    ("Odo owns the Opel", "Odo auctioned off the Opel"),
    ("Pia MEMBER_OF Nordbau", "Gero expelled Pia from the Nordbau"),
    ("Pia MEMBER_OF Nordbau", "The council kicked Pia out of Nordbau"),
    ("Pia is hiding", "Pia came out of hiding"),
    # jobs, offices and responsibilities
    ("Pia works at Nordbau", "Pia left Nordbau"),
    ("Pia works at Nordbau", "Pia quit in September"),
    ("Pia WORKS_AT Nordbau", "Pia was laid off"),
    ("Pia works at Nordbau", "Pia works at Kolibri now"),
    ("Pia owns ledger", "Pia left last month"),
    ("Pia owns ledger", "Gero took over ledger on 2 November"),
    ("Pia OWNS ledger", "Pia handed ledger over to Gero"),
    ("Pia is head of marketing", "Gero is head of marketing now"),
    ("Pia is head of marketing", "Pia left the company"),
    ("Pia is treasurer", "Gero is the new treasurer"),
    # schools, banks and providers
    ("Odo goes to Brook Primary", "Odo goes to the Erlengymnasium now"),
    ("Odo attends the Erlenschule", "Odo has been going to Brook College since October"),
    ("Odo goes to the Erlenschule", "Odo switched to Brook Grammar"),
    ("Odo is in class 2a", "Odo is in class 3a now"),
    ("Odo banks with Kolibri", "Odo banks with Nordbau now"),
    ("Odo is insured with Kolibri", "Odo changed insurers to Nordbau"),
    ("Odo gets his electricity from Kolibri", "Odo switched his electricity supplier to Nordbau"),
    ("Our internet provider is Kolibri", "Our internet provider is Nordbau now"),
    ("Pia is treasurer", "Gero was elected treasurer at the annual meeting"),
    ("Pia is captain", "Gero succeeds Pia as captain"),
    ("Pia is the team captain", "Gero is the new team captain"),
    ("Pia is scout leader", "Pia was replaced by Gero as scout leader"),
    ("Pia owns invoicing", "Gero took over invoicing last week"),
    ("Pia handles catering", "Pia hands catering over to Gero"),
    ("Pia coaches the juniors", "Gero took over the juniors from Pia"),
    ("Pia is secretary", "The members chose Gero as secretary"),
    ("Pia is responsible for ledger", "Gero is now responsible for ledger"),
    ("Pia looks after the newsletter", "Gero looks after the newsletter now"),
    ("Pia reports to Odo", "Pia reports to Gero now"),
    ("Pia REPORTS_TO Odo", "From today Pia reports to Gero"),
    ("Odo MANAGES Pia", "Pia's manager is now Gero"),
    ("CASE-9 is assigned to Odo", "CASE-9 was reassigned to Gero"),
    ("Odo is on call", "Gero is on call now"),
    ("Odo owns the Opel", "The Opel was sold on 3 November"),
    ("The Webers own the Opel", "The Webers sold the Opel"),
    # commands, sieges, disguises, other shapes, stock and loot
    ("Pia commands Nordbau", "Gero took command of Nordbau"),
    ("Pia commands Nordbau", "Pia was relieved of her command"),
    ("Pia MEMBER_OF Nordbau", "Pia was kicked from Nordbau"),
    ("Pia MEMBER_OF Nordbau", "Gero booted Pia out of Nordbau"),
    ("Kolibri besieges Nordbau", "The siege of Nordbau was broken"),
    ("Kolibri is laying siege to Nordbau", "Nordbau fell to Kolibri"),
    ("Kolibri besieges Nordbau", "Kolibri retreated from Nordbau"),
    ("Ruth is disguised as a guard", "Ruth threw off her disguise"),
    ("Odo was turned into a frog", "Odo regained his human form"),
    ("Gero turned Odo into a raven", "Ruth turned Odo back into a man"),
    ("Kolibri sells rope", "Kolibri ran out of rope"),
    ("Odo carries the Opel", "Ruth took the Opel from the body of Odo"),
    # labels: passwords, addresses and numbers
    ("The router password is falcon-12", "The router password is now heron-77"),
    ("The password of the router is falcon", "The password for the router was changed to heron"),
    ("The vault code is 0917", "The vault code was reset yesterday"),
    ("Pia's e-mail is pia@old.example", "Pia's email address is now pia@new.example"),
    ("Pia's phone number is 0151 234567", "Pia has a new phone number: 0151 765432"),
    ("Pia's IBAN is DE89370400440532013000", "Pia's IBAN is now DE02120300000000202051"),
    ("The priority of CASE-9 is high", "The priority of CASE-9 is now low"),
    ("Das Passwort des Routers ist falke-12", "Das Passwort des Routers ist jetzt reiher-7"),
    ("Le mot de passe du wifi est faucon-12", "Le mot de passe du wifi est maintenant heron-7"),
    ("La contraseña del wifi es halcon-12", "La contraseña del wifi es ahora garza-7"),
    # states with a natural successor
    ("CASE-9 is open", "CASE-9 was resolved"),
    ("CASE-9 is resolved", "CASE-9 was reopened"),
    ("The router is down", "The router is running again"),
    ("The mixer is out of order", "The mixer was repaired"),
    ("The flag dark-mode is enabled", "The flag dark-mode is off now"),
    ("The parcel is on its way", "The parcel was delivered"),
    ("The order is pending", "The order was shipped"),
    ("Version 7 is live", "Version 7 was rolled back"),
    ("The campaign launches on 5 January", "The campaign launched on 2 November"),
    ("Odo is vegetarian", "Odo is vegan now"),
    ("Odo is vegan", "Odo eats everything again"),
    ("Our workshop is in Bonn", "Our workshop moved to Ulm in May 2026"),
    ("Odo lives at Mill Lane 3", "Odo moved to Oak Road 9"),
    ("The archive uses MySQL", "The archive uses Postgres now"),
    ("The archive uses MySQL", "We migrated the archive from MySQL to Postgres"),
    ("We decided to use Kafka", "We decided against Kafka"),
    ("We decided to use Kafka", "We decided to use Zulip instead of Kafka"),
    ("We use Postgres", "We decided to use MySQL instead"),
    ("We decided to hire a cook", "We decided not to hire a cook"),
    ("We decided to raise the fee", "We decided against raising the fee"),
    ("Nordbau decided to rent a van", "Nordbau dropped the plan to rent a van"),
    ("Odo works on Tuesdays", "Odo works on Thursdays now"),
    ("Odo works on Tuesdays and Thursdays", "Odo no longer works on Tuesdays"),
    ("Production runs MySQL 8", "Production was upgraded to MySQL 9"),
    # states to which one returns
    ("Odo is ill", "Odo is healthy again"),
    ("The boiler does not work", "The boiler works again"),
    ("The fridge is broken", "The fridge works again since Monday"),
    ("Pia is absent", "Pia is present again"),
    ("Die Heizung funktioniert nicht", "Die Heizung funktioniert wieder"),
    ("La boutique est fermée", "La boutique est de nouveau ouverte"),
    ("La tienda está cerrada", "La tienda está abierta otra vez"),
    ("The essay is due on 5 December", "The essay is now due on 12 December"),
    ("The essay is due on 5 December", "It was extended: the essay is due on 12 December"),
]

STANDS = [
    ("Odo owns the Opel", "Odo left the Opel to Gero in his will"),
    ("Odo owns the Opel", "In his will, Odo leaves the Opel to Gero"),
    ("Nordbau and Kolibri are at peace", "Kolibri wants to invade Nordbau"),
    ("Pia is loyal to Gero", "Pia almost betrayed Gero"),
    ("Pia is accused of theft", "Pia hopes to be acquitted"),
    ("Pia is captain of the Opel", "The sailors wanted to make Gero captain of the Opel"),
    ("The Opel is anchored in the bay", "The Opel will set sail tomorrow"),
    ("Ruth is disguised as a guard", "Ruth took off her coat"),
    ("Odo was turned into a frog", "Odo turned back at the gate"),
    ("Odo was turned into a frog", "Ruth was turned back into a human"),
    ("Kolibri sells rope", "Kolibri ran out of time"),
    ("Pia commands Nordbau", "Pia was relieved of her luggage"),
    ("Pia MEMBER_OF Nordbau", "Pia was kicked from behind"),
    # another medicine, another person, and what nobody did
    ("Ruth takes 10 mg of ramipril", "Ruth takes 100 mg of aspirin"),
    ("Ruth takes 10 mg of Ramipril", "Ruth takes 40 mg of simvastatin"),
    ("Ruth takes 10 mg of ramipril", "Odo no longer takes ramipril"),
    ("Ruth takes 10 mg of ramipril", "Ruth no longer takes 20 mg of ramipril"),
    ("Ruth takes 10 mg of ramipril", "Ruth may stop taking ramipril"),
    ("Ruth takes 10 mg of ramipril", "Ruth almost stopped taking ramipril"),
    ("Ruth takes 10 mg of ramipril", "Ruth switched from coffee to tea"),
    ("Odo smokes", "Odo can stop smoking"),
    ("Odo smokes", "Odo dreamt that he stopped smoking"),
    # a room, a trip, another firm
    ("Pia owns ledger", "Pia left the room"),
    ("Pia owns ledger", "Pia left at noon"),
    ("Pia owns ledger", "Pia left for Rome in March"),
    ("Pia owns ledger", "Pia quit smoking in March"),
    ("Pia owns ledger", "Odo left in March"),
    ("Odo owns the Opel", "Odo left in March"),
    ("Pia works at Nordbau", "Pia left Kolibri"),
    ("Pia works at Nordbau", "Pia left the office at five"),
    ("Pia is head of marketing", "Gero is head of sales now"),
    ("Pia is responsible for ledger", "Gero is responsible for ledger"),
    ("Pia is responsible for ledger", "Gero is now responsible for search"),
    ("Odo attends the Erlenschule", "Odo attends the Erlen Choir now"),
    ("Odo attends the Erlenschule", "Odo goes to the Brook Music School now"),
    ("Odo attends the Erlenschule", "Odo goes to Brook College to pick up Pia"),
    ("Our internet provider is Kolibri", "Our gas provider is Nordbau now"),
    ("We decided to hire a cook", "We decided not to hire a gardener"),
    ("We decided to hire a cook", "Nordbau decided not to hire a cook"),
    ("Odo decided to sell the Opel", "Odo sold the Opel"),
    ("We decided to use Postgres", "We decided to use Kafka instead"),
    ("Pia owns invoicing", "Gero also owns invoicing"),
    ("Pia owns invoicing", "Gero takes over invoicing until Friday"),
    ("Pia owns invoicing", "Gero wants to take over invoicing"),
    ("Pia is treasurer", "Gero was elected treasurer of Kolibri"),
    ("Pia is treasurer", "Gero was elected treasurer in 2014"),
    ("Pia is treasurer", "Gero was not elected treasurer"),
    ("Odo is on call this week", "Gero is on call next week"),
    ("Odo owns the Opel", "The Opel was almost sold"),
    # another label, and what is no text of one
    ("The router password is falcon-12", "The guest password is now heron-77"),
    ("The router password is falcon-12", "The router password is too short"),
    ("Pia's e-mail is pia@old.example", "Odo's e-mail is now odo@new.example"),
    ("Pia's phone number is 0151 234567", "Pia's phone number is still 0151 234 567"),
    ("The vault code is 0917", "The vault code was not reset"),
    # states of others, and values that stand side by side
    ("CASE-9 is open", "CASE-8 was resolved"),
    ("The mixer is broken", "Odo works again"),
    ("Odo is vegetarian", "Pia is vegan now"),
    ("Our workshop is in Bonn", "Odo moved to Ulm"),
    ("The archive uses MySQL", "The archive uses Kafka now"),
    ("Odo works on Tuesdays", "Odo works on Thursdays"),
    ("Odo works on Tuesdays", "Odo sings on Thursdays now"),
    ("Odo uses a hammer", "Odo uses a saw now"),
    ("Version 7 is live", "Version 6 was rolled back"),
    # figures that are qualified differently
    ("Odo takes 400 mg of ibuprofen per dose", "Odo takes 1200 mg of ibuprofen per day"),
    ("Odo takes 5 mg of ramipril at night", "Odo takes 10 mg of ramipril in the morning"),
    ("The limit is 5 uploads per second", "The limit is 900 uploads per hour"),
    ("The stove is at 180 °C for the pie", "The stove is at 90 °C for the meringue"),
    ("The fee is 12 euros for adults", "The fee is 6 euros for children"),
    ("The mast is 20 metres high without the flag", "The mast is 22 metres high with the flag"),
    ("The tram leaves at 6:50", "The tram leaves at 7:05"),
    ("The train to Kiel leaves at 6:50", "The train to Kiel leaves at 8:50"),
    ("Der Preis ist 5 Euro für Mitglieder", "Der Preis ist 8 Euro für Gäste"),
    ("Le prix est de 5 euros pour les membres", "Le prix est de 8 euros pour les invités"),
]

CONTRADICT = [
    ("Odo works on Tuesdays and Thursdays", "Odo does not work on Tuesdays"),
    ("Odo takes 400 mg of ibuprofen per day", "Odo takes 800 mg of ibuprofen per day"),
    ("The limit is 5 uploads per second", "The limit is 9 uploads per second"),
    ("Our flight leaves at 6:50", "Our flight leaves at 8:50"),
    ("Odo is ill", "Odo is healthy"),
    ("The router password is falcon-12", "The router password is heron-77"),
    ("Odo is on call this week", "Odo is not on call this week"),
    ("Pia reports to Odo", "Pia reports to Gero"),
]


def claim_in(text: str) -> dict[str, object]:
    """The relation that a text such as `Pia OWNS ledger` stands for, or a fact in its words."""
    found = _RELATION.fullmatch(text)
    return claim_relation(*found.groups()) if found else claim_fact(text)


@pytest.mark.parametrize(("before", "change"), ENDS)
async def test_words_of_change_end_an_earlier_statement(before: str, change: str) -> None:
    home = await start_talk(**KNOWN)
    first = await home.propose_text(before, claim_in(before))
    reply = await home.propose_text(change)

    assert last_verdict(reply) == "accepted"
    assert reply["verdicts"][0]["ends"] == [first["verdicts"][0]["id"]]


@pytest.mark.parametrize(("first", "second"), STANDS)
async def test_a_lookalike_of_a_change_ends_nothing(first: str, second: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(first)
    reply = await home.propose_text(second)

    assert (last_verdict(reply), grades_in(reply)) == ("accepted", [])
    assert "ends" not in reply["verdicts"][0]


@pytest.mark.parametrize(("first", "second"), CONTRADICT)
async def test_two_values_of_one_kind_still_contradict(first: str, second: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(first)
    reply = await home.propose_text(second)

    assert (last_verdict(reply), grades_in(reply)) == ("rejected", ["contradiction"])


@pytest.mark.parametrize("denial", ["Pia has no allergies", "Pia has no known allergies"])
async def test_an_ended_allergy_allows_a_denial_of_all(denial: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text("Pia is allergic to wasp stings")
    ended = claim_fact("Pia is no longer allergic to wasp stings", when="2026-10")
    await home.propose_text("No longer.", ended)
    reply = await home.propose_text(denial)

    assert (last_verdict(reply), grades_in(reply)) == ("accepted", [])


@pytest.mark.parametrize(
    ("kind", "text", "tags"),
    [
        ("person", "It was released", ["free"]),
        ("album", "It was released in May", None),
        ("version", "It was released yesterday", None),
        ("issue", "Gero fixed It", None),
        ("lamp", "Gero fixed It", ["whole"]),
        ("person", "It gave up smoking", ["non-smoking"]),
    ],
)
async def test_a_state_fits_what_it_is_said_of(
    kind: str, text: str, tags: list[str] | None
) -> None:
    home = await start_talk(Gero="person", Zephyr=kind)
    await home.propose_text(text.replace("It", "Zephyr"))

    assert (await home.driver.call("get", of="Zephyr")).get("tags") == tags


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ("Pia is absent", "Pia is present again"),
        ("Pia is pregnant", "Pia gave birth"),
        ("The Opel is locked", "Gero unlocked the Opel"),
    ],
)
async def test_a_note_names_what_ended_once(before: str, change: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(before)
    reply = await home.propose_text(change)

    assert reply["note"].count("; ") == 0
    assert len(set(reply["verdicts"][0]["ends"])) == len(reply["verdicts"][0]["ends"])


NUMBERS = [
    ("Ruth has 24 hit points", "Ruth lost 7 hit points"),
    ("Ruth has 24 hit points", "Ruth took 6 points of damage"),
    ("Ruth has 24 hit points", "Ruth was healed for 4 hit points"),
    ("Ruth has 80 gold pieces", "Ruth paid Odo 30 gold pieces for a map"),
    ("Odo has 80 silver", "Ruth gave Odo five silver"),
    ("Ruth has nine arrows", "Ruth shot two arrows at Odo"),
    ("Ruth has three healing potions", "Ruth drank one of her healing potions"),
    ("Ruth has two vials", "Ruth threw a vial at Odo"),
    ("Ruth is level 5", "Ruth gained a level"),
    ("Nordbau has 900 men", "Nordbau lost 140 men"),
]


@pytest.mark.parametrize(("held", "change"), NUMBERS)
async def test_a_gain_or_loss_names_the_number_that_may_be_out_of_date(
    held: str, change: str
) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(held)

    reply = await home.propose_text(change)

    assert f'May no longer hold: "{held}"' in reply["note"]
    assert (await home.driver.call("review"))["total"] == 0


@pytest.mark.parametrize(
    ("held", "other"),
    [
        ("Ruth has 24 hit points", "Odo lost 7 hit points"),
        ("Ruth has 24 hit points", "Ruth lost her temper"),
        ("Ruth has 24 hit points", "Ruth lost 30 gold"),
        ("Ruth has 80 gold", "Ruth hopes to win 20 gold"),
        ("Ruth has 80 gold", "Ruth owes Odo 20 gold"),
        ("Ruth has nine arrows", "Ruth will buy ten arrows"),
    ],
)
async def test_a_plan_or_what_others_lose_leaves_a_number(held: str, other: str) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(held)

    assert "May no longer" not in (await home.propose_text(other))["note"]


@pytest.mark.parametrize(
    ("held", "change", "partly"),
    [
        ("Ruth has 15 silver and 12 arrows", "Ruth has 11 arrows now", True),
        ("Ruth is angry and in the kitchen", "Ruth is in the cellar now", True),
        ("Ruth has 12 arrows", "Ruth has 11 arrows now", False),
        ("Ruth has nine arrows", "Ruth fired her last arrow", False),
    ],
)
async def test_a_reply_says_that_a_fact_of_several_values_ended_as_a_whole(
    held: str, change: str, *, partly: bool
) -> None:
    home = await start_talk(**KNOWN)
    await home.propose_text(held)

    reply = await home.propose_text(change)

    assert held in reply["note"]
    assert (f"This ended as a whole: {held}." in reply.get("hint", "")) is partly
