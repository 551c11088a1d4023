"""A game master's assistant: five scenes with forty turns, what they make true, and what not."""

from typing import Any

from tests.toolsets.canon.playing import Session

BOOK = """Saltmere is a harbour town in the fog. Odo Brand keeps the light at Marrow Lighthouse.
Ilsa Vane sails the Petrel. The silver lantern belongs to Odo Brand.
Captain Roke leads the Harbour Watch from the Customs House."""

NIGHT = [
    ("gm", "Fog. The light at Marrow has gone out, and the stairs are wet."),
    ("Ilsa", "I climb up. Odo? Are you there?"),
    ("gm", "Odo Brand stands at the broken rail with the silver lantern."),
    ("Odo", "Somebody cut the rope. Take the lantern, Ilsa."),
    ("Ilsa", "I take the lantern from him."),
    ("gm", "The rail gives way. Odo Brand falls into the black water and is dead."),
    ("Ilsa", "I run down the stairs with the lantern."),
    ("user", "Can I see who did it?"),
    ("gm", "A man in a grey coat rows away."),
]
QUAY = [
    ("gm", "Morning at the quay. Captain Roke asks what happened."),
    ("Ilsa", "Odo fell. Somebody in a grey coat rowed away."),
    ("Roke", "Grey coat? That is Tam Wick, my own lieutenant."),
    ("Ilsa", "Then he is the one I look for."),
    ("gm", "Roke gives Ilsa a watch badge."),
    ("Roke", "From now on you are of the Harbour Watch."),
    ("Ilsa", "I pin it on."),
    ("user", "I go to the Customs House."),
]
CUSTOMS = [
    ("gm", "Tam Wick sits in the Customs House, a coil of rope on his desk."),
    ("Ilsa", "That rope is cut."),
    ("Tam", "Ropes are cut every day."),
    ("Ilsa", "Where were you last night?"),
    ("Tam", "Asleep."),
    ("gm", "He draws a knife and wounds Ilsa in the arm."),
    ("Ilsa", "I throw the lantern at him."),
    ("gm", "The lantern breaks. Tam Wick flees to the Petrel."),
]
PETREL = [
    ("gm", "On the Petrel Tam Wick cuts the moorings."),
    ("Ilsa", "It is my ship. I jump."),
    ("gm", "You land on deck."),
    ("Tam", "Odo saw what we bring in at night."),
    ("Ilsa", "Who is we?"),
    ("Tam", "Ask your captain."),
    ("gm", "Roke's men board and arrest Tam Wick."),
]
FAREWELL = [
    ("gm", "They bury Odo Brand at Marrow."),
    ("Ilsa", "I will keep the light myself."),
    ("gm", "The town watches. Captain Roke is not there."),
    ("user", "Does anybody know where he is?"),
    ("gm", "Nobody does."),
    ("Ilsa", "Then I know enough."),
    ("gm", "The fog lifts."),
    ("Ilsa", "I light the lamp."),
]
TURNS = sum(map(len, (NIGHT, QUAY, CUSTOMS, PETREL, FAREWELL)))


def make_turns(said: list[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"by": by, "text": text} for by, text in said]


def make_person(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "entity", "name": name, "type": "character", "tags": ["alive"], **more}


def make_place(name: str) -> dict[str, Any]:
    return {"kind": "entity", "name": name, "type": "location"}


async def play_night(s: Session) -> None:
    await prepare_night(s)
    night = await scene_one(s)
    await scene_two(s)
    await scenes_three_and_four(s)
    await the_end(s, night)


async def prepare_night(s: Session) -> None:
    # Open a space in an empty store and add the setting.
    await s.done("spaces")
    await s.done("open", name="Saltmere", about="A harbour town in the fog")
    await s.done("tell", title="The Harbour Book", text=BOOK)
    # Propose everything in one call; claims name entities of the same call.
    await s.done(
        "propose",
        evidence=["The Harbour Book"],
        claims=[
            make_person("Odo Brand", says="Keeper of the light"),
            make_person("Ilsa Vane", says="Sails the Petrel"),
            make_person("Captain Roke"),
            make_place("Marrow Lighthouse"),
            make_place("Customs House"),
            {"kind": "entity", "name": "Petrel", "type": "object"},
            {"kind": "entity", "name": "Silver lantern", "type": "object"},
            {"kind": "entity", "name": "Harbour Watch", "type": "faction"},
            {"kind": "relation", "from": "Odo Brand", "type": "OWNS", "to": "Silver lantern"},
            {"kind": "relation", "from": "Ilsa Vane", "type": "OWNS", "to": "Petrel"},
            {"kind": "relation", "from": "Captain Roke", "type": "leads", "to": "Harbour Watch"},
            {
                "kind": "fact",
                "says": "Odo Brand keeps the light at Marrow Lighthouse",
                "about": ["Odo Brand", "Marrow Lighthouse"],
            },
        ],
    )


async def scene_one(s: Session) -> dict[str, Any]:
    # A new title opens a scene; each turn gets an id.
    reply = await s.done(
        "tell", scene="Night at the lighthouse", place="Marrow", turns=make_turns(NIGHT)
    )
    ids = [each["id"] for each in reply["turns"]]
    # Propose what the game master said, with the turns as evidence.
    await s.done(
        "propose",
        claims=[
            {"kind": "state", "of": "Odo", "tags": ["dead"], "evidence": [ids[5]]},
            {
                "kind": "event",
                "says": "Odo Brand falls from Marrow Lighthouse",
                "about": ["Odo"],
                "where": "Marrow",
                "evidence": [ids[5]],
            },
            {
                "kind": "relation",
                "from": "Ilsa",
                "type": "OWNS",
                "to": "Silver lantern",
                "evidence": [ids[4]],
            },
        ],
    )
    await s.done(
        "tell",
        scene="Night at the lighthouse",
        end_scene="Odo falls to his death; Ilsa has the lantern.",
    )
    return reply


async def scene_two(s: Session) -> None:
    # Before the next scene, read a brief and the present and former owners.
    await s.done("context", question="What does Ilsa Vane know and have?", tokens=300)
    await s.done("find", text="who owns the lantern?", kinds=["relation"])
    reply = await s.done("tell", scene="Morning at the quay", turns=make_turns(QUAY[:2]))
    # Propose a new character before recording the turns that it speaks.
    await s.done(
        "propose",
        said="Captain Roke says that the man in the grey coat is Tam Wick, his lieutenant.",
        claims=[
            make_person("Tam Wick", says="Lieutenant of the Harbour Watch, in a grey coat"),
            {"kind": "relation", "from": "Tam Wick", "type": "MEMBER_OF", "to": "Harbour Watch"},
        ],
    )
    reply = await s.done("tell", scene="Morning at the quay", turns=make_turns(QUAY[2:]))
    await s.done(
        "propose",
        evidence=[reply["turns"][3]["id"]],
        claims=[
            {"kind": "relation", "from": "Ilsa", "type": "MEMBER_OF", "to": "Harbour Watch"},
            {"kind": "fact", "says": "Tam Wick is suspected of murder", "about": ["Tam"]},
        ],
    )
    # The assistant forgets that Odo is dead; a gate rejects the claim.
    await s.done(
        "propose",
        said="Odo Brand hands Ilsa the watch badge.",
        claims=[{"kind": "fact", "says": "Odo Brand hands over the badge", "who": ["Odo Brand"]}],
    )
    await s.done("tell", scene="Morning", end_scene="Ilsa joins the Harbour Watch.")


async def scenes_three_and_four(s: Session) -> None:
    # Two more scenes, the first with a dry run.
    reply = await s.done(
        "tell", scene="In the Customs House", place="Customs House", turns=make_turns(CUSTOMS)
    )
    ids = [each["id"] for each in reply["turns"]]
    broken = {"kind": "state", "of": "Silver lantern", "tags": ["broken"], "evidence": [ids[7]]}
    await s.done("propose", claims=[broken], dry_run=True)
    await s.done(
        "propose",
        claims=[
            broken,
            {"kind": "state", "of": "Ilsa", "tags": ["wounded"], "evidence": [ids[5]]},
            {
                "kind": "event",
                "says": "Tam Wick wounds Ilsa Vane",
                "who": ["Tam"],
                "about": ["Ilsa"],
                "evidence": [ids[5]],
            },
        ],
    )
    await s.done("tell", scene="In the Customs", end_scene="Tam Wick wounds Ilsa and flees.")
    reply = await s.done("tell", scene="On the Petrel", turns=make_turns(PETREL))
    await s.done("context", of="On the Petrel", tokens=400)
    await s.done(
        "propose",
        evidence=[reply["turns"][6]["id"]],
        claims=[
            {"kind": "event", "says": "Tam Wick is arrested", "about": ["Tam"]},
            {"kind": "state", "of": "Tam Wick", "tags": ["imprisoned"]},
        ],
    )


async def the_end(s: Session, night: dict[str, Any]) -> None:
    reply = await s.done("tell", scene="Farewell at Marrow", turns=make_turns(FAREWELL))
    # The game master adds that Roke has fled, and asks why Odo is dead.
    await s.done(
        "propose",
        evidence=[reply["turns"][2]["id"]],
        claims=[{"kind": "fact", "says": "Captain Roke has fled from Saltmere", "about": ["Roke"]}],
    )
    odo = await s.done("get", of="Odo Brand")
    assert odo["tags"] == ["dead"], odo
    dead = next(each["id"] for each in odo["facts"] if each["says"].endswith("dead"))
    why = await s.done("why", of=dead)
    assert why["because"][0]["id"] == night["turns"][5]["id"]
    # Correct a name; the old one still finds the entity.
    await s.done(
        "propose",
        said="The ship is called the Storm Petrel.",
        claims=[{"kind": "correction", "of": "Petrel", "field": "name", "value": "Storm Petrel"}],
    )
    await s.done("get", of="Petrel")
    # Retcon the wound; the reply lists what depends on it.
    found = await s.done("find", text="Ilsa Vane is wounded", kinds=["fact"])
    await s.done(
        "decide", verdict="retcon", of=[found["found"][0]["id"]], reason="The knife missed her."
    )
    # Read the timeline, the queue and the latest changes.
    await s.done("timeline")
    await s.done("review")
    await s.done("changes", limit=5)
    # Nothing is found where nothing was recorded.
    await s.done("find", text="dragon")
    await s.call("get", of="Captain Rook")
