"""A researcher: two sources contradict each other, and the study says which stands, and why."""

from tests.toolsets.canon.playing import Session

GAZETTE = """The Iron Bridge at Harrow was opened on 4 May 1931.
Its engineer was Clara Holt. It is 212 metres long."""
MEMOIR = """I remember the opening of the Iron Bridge well. The bridge at Harrow was opened in 1932.
Clara Holt had died the year before. The bridge is 212 metres long."""
LETTER = """Harrow, 6 May 1931. Two days ago we opened the bridge.
Mrs Holt spoke well. Her health is good."""


async def play_study(s: Session) -> None:
    # A study has its own space. Each source is recorded as it is.
    await s.done("open", name="Harrow bridges", about="When they were built, and by whom")
    gazette = await s.done("tell", title="County Gazette 1931", text=GAZETTE)
    memoir = await s.done("tell", title="Memoir of J. Pike", text=MEMOIR)
    # Propose what the Gazette says.
    await s.done(
        "propose",
        evidence=[gazette["passages"][0]["id"]],
        claims=[
            {
                "kind": "entity",
                "name": "Iron Bridge",
                "type": "object",
                "fields": {"length": "212 m"},
            },
            {"kind": "entity", "name": "Harrow", "type": "location"},
            {"kind": "entity", "name": "Clara Holt", "type": "character", "tags": ["alive"]},
            {"kind": "relation", "from": "Iron Bridge", "type": "LOCATED_IN", "to": "Harrow"},
            {
                "kind": "fact",
                "says": "The Iron Bridge was opened in 1931",
                "about": ["Iron Bridge"],
            },
            {
                "kind": "event",
                "says": "Opening of the Iron Bridge",
                "about": ["Iron Bridge", "Clara Holt"],
                "where": "Harrow",
                "when": "1931-05-04",
            },
        ],
    )
    # The memoir contradicts it; the verdict names the conflicting fact.
    said = await s.done(
        "propose",
        evidence=[memoir["passages"][0]["id"]],
        claims=[
            {
                "kind": "fact",
                "says": "The Iron Bridge was not opened in 1931",
                "about": ["Iron Bridge"],
            },
            {
                "kind": "fact",
                "says": "The Iron Bridge was opened in 1932",
                "about": ["Iron Bridge"],
            },
            {"kind": "state", "of": "Clara Holt", "tags": ["dead"], "when": "1930-12-31"},
        ],
    )
    # Read the queue and the reason of the first rejection.
    await s.done("review")
    refused = next(row for row in said["verdicts"] if row["verdict"] != "accepted")
    await s.done("why", of=refused["proposal"])
    # A third source settles it; the researcher retcons with a reason.
    letter = await s.done("tell", title="Letter of 6 May 1931", text=LETTER)
    await s.done(
        "propose",
        evidence=[letter["passages"][0]["id"]],
        claims=[
            {"kind": "fact", "says": "The Iron Bridge was opened in 1931", "about": ["Iron Bridge"]}
        ],
    )
    wrong = await s.done("find", text="Clara Holt is dead", kinds=["fact"], limit=1)
    await s.done(
        "decide",
        verdict="retcon",
        of=[wrong["found"][0]["id"]],
        along=True,
        reason="The letter has her speak at the opening; the memoir is wrong on both.",
    )
    await s.done("get", of="Clara")
    # Read what holds now with its evidence.
    found = await s.done("find", text="when was the bridge opened?")
    fact = next(row["id"] for row in found["found"] if row["kind"] == "fact")
    await s.done("why", of=fact, full=True)
    await s.done("get", of="Iron", at="1931-06-01")
    await s.done("timeline", to="1931-12-31")
    await s.done("context", of="Iron Bridge", question="When was it opened?", tokens=300)
