"""States of people and groups that the facts of played scenes begin and end, in whatever words."""

from typing import Any

import pytest

from tests.toolsets.canon.kit import ToolDriver, make_driver

pytestmark = pytest.mark.anyio


async def play(*scenes: str, when: tuple[str, ...] = ()) -> tuple[ToolDriver, list[dict[str, Any]]]:
    """Tell a fact about Ilsa or the Imps in each scene; the driver and the replies."""
    driver, replies = make_driver(), []
    await driver.call("open", name="Morn")
    people = [
        {"kind": "entity", "name": name, "type": kind, "tags": ["alive"]}
        for name, kind in (("Ilsa", "character"), ("Imps", "creature"))
    ]
    await driver.call("propose", claims=people, said="Ilsa meets the Imps.")
    for number, says in enumerate(scenes):
        dated = {"when": when[number]} if when else {}
        title = f"Scene {number}"
        await driver.call("tell", scene=title, turns=[{"by": "gm", "text": says}], **dated)
        about = [name for name in ("Ilsa", "Imps") if name in says]
        claims = [{"kind": "fact", "says": says, "about": about}]
        replies.append(await driver.call("propose", claims=claims, evidence=[title]))
    return driver, replies


async def tags_of(driver: ToolDriver, name: str) -> list[str]:
    return sorted((await driver.call("get", of=name)).get("tags", ()))


@pytest.mark.parametrize(
    ("says", "tags"),
    [
        ("Ilsa was stabbed to death last night.", ["dead"]),
        ("Ilsa was shot at noon.", ["alive"]),
        ("Ilsa was executed at noon.", ["dead"]),
        ("Ilsa died on Friday.", ["dead"]),
        ("Ilsa drowned this evening.", ["dead"]),
        ("Ilsa crumbled to dust.", ["dead"]),
        ("Ilsa died in 1390.", ["dead"]),
        ("The next morning Ilsa was found dead in her bed.", ["dead"]),
        ("Two days later Ilsa was strangled.", ["dead"]),
        ("By nightfall Ilsa was dead.", ["dead"]),
        ("Ilsa has been dead since Monday.", ["dead"]),
        ("The next morning Ilsa had a fever.", ["alive"]),
        ("Ilsa was captured yesterday.", ["alive", "imprisoned"]),
        ("Ilsa wurde gestern Nacht ermordet.", ["dead"]),
        ("Ilsa est morte cette nuit.", ["dead"]),
        ("Ilsa murió esta mañana.", ["dead"]),
        ("Ilsa dies tomorrow.", ["alive"]),
        ("Ilsa will be hanged at noon.", ["alive"]),
        ("Ilsa is arrested on Monday.", ["alive"]),
        ("Ilsa stirbt morgen.", ["alive"]),
        ("Ilsa was nearly killed last night.", ["alive"]),
        ("Ilsa dreamed that she died last night.", ["alive"]),
        ("Ilsa was imprisoned in 1390.", ["alive"]),
    ],
)
@pytest.mark.parametrize("when", [(), ("1450-03-02",)])
async def test_a_change_with_a_word_of_time_has_come_in_its_scene(
    says: str, tags: list[str], when: tuple[str, ...]
) -> None:
    driver, _ = await play(says, when=when)
    assert await tags_of(driver, "Ilsa") == tags


@pytest.mark.parametrize(
    ("says", "tags"),
    [
        ("All of the Imps were killed.", ["dead"]),
        ("The Imps were all slain.", ["dead"]),
        ("Every one of the Imps died.", ["dead"]),
        ("Both Imps were captured.", ["alive", "imprisoned"]),
        ("Ilsa wiped out the Imps.", ["dead"]),
        ("Alle Imps wurden getötet.", ["dead"]),
        ("Ilsa killed one of the Imps.", ["alive"]),
        ("Ilsa slew three Imps.", ["alive"]),
        ("Ilsa freed some of the Imps.", ["alive"]),
        ("A storm killed dozens of the Imps.", ["alive"]),
        ("Ilsa killed all the Imps but two.", ["alive"]),
        ("All but one of the Imps died.", ["alive"]),
        ("Most of the Imps were killed.", ["alive"]),
        ("Ilsa tötete zwei der Imps.", ["alive"]),
        ("Ilsa a tué un des Imps.", ["alive"]),
        ("Ilsa mató a uno de los Imps.", ["alive"]),
    ],
)
async def test_a_group_is_dead_when_all_of_it_are(says: str, tags: list[str]) -> None:
    driver, _ = await play(says)
    assert await tags_of(driver, "Imps") == tags


async def test_one_of_a_group_kills_somebody() -> None:
    driver, _ = await play("One of the Imps killed Ilsa.")
    assert (await tags_of(driver, "Ilsa"), await tags_of(driver, "Imps")) == (["dead"], ["alive"])


async def test_a_later_scene_ends_what_came_at_an_hour() -> None:
    driver, (_, reply) = await play("Ilsa was arrested last night.", "Ilsa is free.")
    assert await tags_of(driver, "Ilsa") == ["alive", "free"]
    assert "Ilsa was arrested last night" in reply["note"]


async def test_what_comes_tomorrow_ends_nothing() -> None:
    driver, (_, reply) = await play(
        "Ilsa is a member of the Imps.", "Ilsa leaves the Imps tomorrow."
    )
    assert "Ended" not in reply.get("note", "")
    assert len((await driver.call("get", of="Ilsa"))["facts"]) > 1


@pytest.mark.parametrize(
    ("says", "state"),
    [
        ("A healer brought Ilsa back from the dead.", "alive"),
        ("Ilsa was restored to life by an angel.", "alive"),
        ("Ilsa rose from her grave.", "alive"),
        ("Ilsa woke from death in the crypt.", "alive"),
        ("Ilsa breathes again.", "alive"),
        ("Ilsa is no longer dead.", "alive"),
        ("Ilsa was resurrected.", "alive"),
        ("Ilsa ist von den Toten auferstanden.", "alive"),
        ("Ilsa est revenue d'entre les morts.", "alive"),
        ("Ilsa volvió a la vida.", "alive"),
        ("Ilsa came back as a ghost.", "undead"),
        ("Ilsa was raised as a skeleton in the crypt.", "undead"),
        ("Ilsa will rise from the dead.", "dead"),
        ("Ilsa almost came back to life.", "dead"),
        ("The priest tried to bring Ilsa back to life.", "dead"),
        ("Ilsa's sister rose from the dead.", "dead"),
        ("Ilsa was raised by her aunt.", "dead"),
        ("Ilsa is fast asleep.", "dead"),
    ],
)
async def test_the_dead_who_are_raised_act_again(says: str, state: str) -> None:
    driver, _ = await play("Ilsa was killed by the Imps.", says)
    assert state in await tags_of(driver, "Ilsa")

    await driver.call("tell", scene="The gate", turns=[{"by": "gm", "text": "Ilsa is here."}])
    acts = {"kind": "event", "says": "Ilsa bars the gate", "who": ["Ilsa"]}
    reply = await driver.call("propose", claims=[acts], evidence=["The gate"])
    assert reply["verdicts"][0]["verdict"] == ("rejected" if state == "dead" else "accepted")


@pytest.mark.parametrize(
    ("says", "acts_freely"),
    [
        ("Ilsa passed out in the smoke.", False),
        ("The Imps knocked Ilsa out.", False),
        ("Ilsa fell into a coma.", False),
        ("Ilsa was turned to stone.", False),
        ("Ilsa verlor das Bewusstsein.", False),
        ("Ilsa a perdu connaissance.", False),
        ("Ilsa se desmayó.", False),
        ("Ilsa nearly fainted.", True),
        ("Ilsa was knocked out of the contest.", True),
        ("Ilsa passed out the letters.", True),
        ("Ilsa was petrified of the Imps.", True),
    ],
)
async def test_an_act_of_the_unconscious_is_pointed_out(says: str, *, acts_freely: bool) -> None:
    driver, _ = await play(says)
    await driver.call("tell", scene="The gate", turns=[{"by": "gm", "text": "Ilsa is here."}])
    acts = {"kind": "event", "says": "Ilsa bars the gate", "who": ["Ilsa"]}
    (verdict,) = (await driver.call("propose", claims=[acts], evidence=["The gate"]))["verdicts"]
    assert (verdict["verdict"], "against" not in verdict) == ("accepted", acts_freely)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ilsa fainted.", "Ilsa came to at nightfall."),
        ("Ilsa is unconscious.", "Ilsa regained consciousness."),
        ("Ilsa is unconscious.", "The Imps brought Ilsa round."),
        ("Ilsa is possessed.", "The monk exorcised Ilsa."),
        ("Ilsa is possessed by a fiend.", "The fiend was driven out of Ilsa."),
        ("Ilsa is cursed.", "Ilsa was released from the curse."),
        ("The Imps put a curse on Ilsa.", "The curse on Ilsa was broken."),
        ("Ilsa is blind.", "Ilsa got her sight back."),
        ("Ilsa is deaf.", "Ilsa can hear again."),
        ("Ilsa is poisoned.", "Ilsa drank the antidote."),
        ("Ilsa was poisoned.", "The monk sucked the venom from Ilsa's wound."),
        ("Ilsa is wounded.", "Ilsa's wounds have closed."),
        ("Ilsa is invisible.", "The spell on Ilsa wore off."),
        ("Ilsa is imprisoned.", "The monk broke Ilsa out of the dungeon."),
        ("Ilsa is imprisoned.", "Ilsa was let go."),
        ("Ilsa was paralysed by the venom.", "Ilsa can move again."),
        ("Ilsa ist verflucht.", "Ilsa wurde von dem Fluch erlöst."),
        ("Ilsa ist vergiftet.", "Ilsa nahm das Gegengift."),
        ("Ilsa est possédée.", "Ilsa a été exorcisée par le moine."),
        ("Ilsa est empoisonnée.", "Ilsa a pris l'antidote."),
        ("Ilsa está maldita.", "La maldición de Ilsa fue rota."),
        ("Ilsa está ciega.", "Ilsa recobró la vista."),
    ],
)
async def test_a_cure_ends_the_state(before: str, after: str) -> None:
    _, (_, reply) = await play(before, after)
    assert reply["note"].startswith(("Ended", "Ends then")), reply


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Ilsa is cursed.", "The monk failed to lift the curse on Ilsa."),
        ("Ilsa is poisoned.", "Ilsa has an antidote."),
        ("Ilsa is poisoned.", "The antidote did not work on Ilsa."),
        ("Ilsa is imprisoned.", "Ilsa was freed from her oath."),
        ("Ilsa is possessed.", "The monk tried to exorcise Ilsa."),
        ("Ilsa is blind.", "Ilsa can see the sea again in her dreams."),
        ("Ilsa is unconscious.", "Ilsa came to the inn."),
        ("Ilsa is wounded.", "Ilsa's horse healed."),
    ],
)
async def test_what_only_sounds_like_a_cure_ends_nothing(before: str, after: str) -> None:
    _, (_, reply) = await play(before, after)
    assert "Ended" not in reply.get("note", ""), reply


@pytest.mark.parametrize(
    "says",
    [
        "Ilsa was swallowed by the fog.",
        "The Imps buried Ilsa in compliments.",
        "The Imps killed Ilsa with flattery.",
        "Ilsa was slaughtered in the reviews.",
        "Ilsa was destroyed by the scandal.",
        "Ilsa was burned by the sun.",
        "Ilsa was broken by grief.",
        "The loss shattered Ilsa.",
        "Ilsa closed with the Imps.",
        "Ilsa collapsed at the gate.",
        "The Imps knocked Ilsa down.",
        "Ilsa is locked in a dispute with the Imps.",
        "Ilsa was poisoned against the Imps.",
        "Ilsa was wounded in her pride.",
        "Ilsa was enslaved by her work.",
        "Ilsa was captured in a painting.",
        "Ilsa lost her life savings.",
        "Ilsa wurde von Kummer zerstört.",
        "Ilsa a été détruite par la nouvelle.",
        "Ilsa fue destruida por la noticia.",
    ],
)
async def test_a_figure_of_speech_sets_no_state(says: str) -> None:
    driver, _ = await play(says)
    assert await tags_of(driver, "Ilsa") == ["alive"]


@pytest.mark.parametrize(
    "says",
    [
        "Ilsa was devoured by a bear.",
        "The fire consumed Ilsa.",
        "The Imps destroyed Ilsa.",
        "Ilsa was incinerated by a dragon.",
        "Ilsa was buried in the churchyard.",
        "Ilsa was buried in holy ground.",
        "Ilsa was killed by a fall from the wall.",
        "Ilsa died of grief.",
    ],
)
async def test_a_person_who_is_destroyed_is_dead(says: str) -> None:
    driver, _ = await play(says)
    assert await tags_of(driver, "Ilsa") == ["dead"]


@pytest.mark.parametrize(
    ("before", "turn", "verdicts"),
    [
        ("Ilsa died", "Ilsa was raised from the dead", ["accepted", "accepted"]),
        ("Ilsa was knocked out", "Ilsa woke up", ["accepted", "accepted"]),
        ("Ilsa is alive", "Ilsa died", ["accepted", "accepted"]),
        ("Ilsa died", "Ilsa was mourned by all", ["rejected", "accepted"]),
    ],
)
async def test_facts_are_judged_before_events_of_the_same_call(
    before: str, turn: str, verdicts: list[str]
) -> None:
    driver, _ = await play(before)
    told = {"scene": "Later", "turns": [{"by": "gm", "text": f"{turn}. She opens the gate."}]}
    await driver.call("tell", **told)
    act = {"kind": "event", "says": "Ilsa opens the gate", "who": ["Ilsa"]}
    fact = {"kind": "fact", "says": turn, "about": ["Ilsa"]}

    reply = await driver.call("propose", claims=[act, fact], evidence=["Later"])

    assert [each["verdict"] for each in reply["verdicts"]] == verdicts
    assert "against" not in reply["verdicts"][0] or verdicts[0] == "rejected"


@pytest.mark.parametrize(
    ("claims", "tags"),
    [
        (("Ilsa was slain by an ogre.", "Ilsa was raised from the dead."), ["alive"]),
        (("Ilsa drowned.", "Ilsa came back to life."), ["alive"]),
        (("Ilsa fell unconscious.", "Ilsa woke up."), ["alive", "awake"]),
    ],
)
@pytest.mark.parametrize("kind", ["fact", "event"])
async def test_what_begins_and_ends_in_one_call_leaves_no_fact_of_it(
    kind: str, claims: tuple[str, ...], tags: list[str]
) -> None:
    driver, _ = await play()
    await driver.call("tell", scene="The cave", turns=[{"by": "gm", "text": " ".join(claims)}])
    who = "about" if kind == "fact" else "who"
    both = [{"kind": kind, "says": says, who: ["Ilsa"]} for says in claims]
    await driver.call("propose", claims=both, evidence=["The cave"])
    held = await driver.call("get", of="Ilsa")
    stated = {one["says"] for one in held["facts"]}
    assert sorted(held["tags"]) == tags
    assert not stated & {"Ilsa is dead", "Ilsa is no longer alive", "Ilsa is unconscious"}
