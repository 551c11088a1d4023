"""A plot of the model of what holds, told through the tools in words, relations and states."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from tests.campaign.holds_model import KEEPER, Identity, Retraction, Scene, Statement, View
from tests.campaign.holds_plots import (
    GUILDS,
    ITEMS,
    PEOPLE,
    PLACES,
    READERS,
    SHIPS,
    TABLE,
    VALUES,
    Claim,
    Plot,
    Step,
    play_plot,
)
from tests.toolsets.canon.kit import ToolDriver, make_driver

TYPES = {
    **dict.fromkeys((*PEOPLE, *map(str.title, READERS)), "character"),
    **dict.fromkeys(PLACES, "location"),
    **dict.fromkeys((*ITEMS, *SHIPS), "object"),
    **dict.fromkeys(GUILDS, "faction"),
}
AUTHORITIES = {1: "player", 2: "source"}
Form = dict[str, Any]


def is_sentence(subject: str, words: str, value: str) -> Form:
    """A fact whose sentence names the subject and the value."""
    said = words.format(subject, value)
    about = [each for each in TYPES if each in said.split()]
    return {"kind": "fact", "says": said, "about": about}


def relation_form(start: str, kind: str, end: str) -> Form:
    return {"kind": "relation", "from": start, "type": kind, "to": end}


def sentences_of(one: Statement) -> tuple[str, ...]:
    """The sentences that say a statement; {0} is its subject and {1} its value."""
    if one.attribute == "place" and one.value.startswith("@"):
        return ("{1} carries the {0}",) if one.positive else ("{1} no longer carries the {0}",)
    return {
        "place": (("{0} is in {1}",), ("{0} is not in {1}", "{0} left {1}")),
        "life": (("{0} is {1}",), ()),
        "spouse": (("{0} is married to {1}", "{0} married {1}"), ("{0} divorced {1}",)),
        "owner": (("{1} owns the {0}", "The {0} belongs to {1}"), ("{1} no longer owns the {0}",)),
        "member": (("{0} is a member of the {1}", "{0} joined the {1}"), ("{0} left the {1}",)),
        "captain": (
            ("{1} is the captain of the {0}", "The captain of the {0} is {1}"),
            ("{1} is no longer the captain of the {0}",),
        ),
        "eyes": (("{0} has {1} eyes", "The eyes of {0} are {1}"), ("{0} does not have {1} eyes",)),
        "birthplace": (("{0} was born in {1}",), ()),
        "lid": (("The {0} is {1}",), ("The {0} is not {1}",)),
        "crew": (("The {0} has a crew of {1}",), ("The {0} does not have a crew of {1}",)),
        "stance:Bo": (
            ("{0} is " + with_article(one.value) + " of Bo",),
            ("{0} is no " + one.value + " of Bo",),
        ),
    }[one.attribute][0 if one.positive else 1]


def with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


RELATIONS = {
    "place": "LOCATED_IN",
    "spouse": "MARRIED_TO",
    "member": "MEMBER_OF",
    "birthplace": "BORN_IN",
}
NOT_SO = {"planned": "It is planned that ", "unreal": "Di dreamt that "}


def forms_of(one: Statement) -> list[Form]:
    """The claims that say a statement."""
    value, before = one.value.removeprefix("@"), NOT_SO.get(one.modality, "")
    found = [is_sentence(one.subject, before + words, value) for words in sentences_of(one)]
    if not one.positive or before:
        return found
    match one.attribute:
        case "place" if one.value.startswith("@"):
            found.append(relation_form(value, "CARRIES", one.subject))
        case "owner":
            found.append(relation_form(value, "OWNS", one.subject))
        case "stance:Bo":
            found.append(relation_form(one.subject, f"{value.upper()}_OF", "Bo"))
        case "life" | "lid":
            found.append({"kind": "state", "of": one.subject, "tags": [value]})
        case attribute if attribute in RELATIONS:
            found.append(relation_form(one.subject, RELATIONS[attribute], value))
        case _:
            pass
    return found


def is_change(one: Statement, form: Form) -> bool:
    """Return whether a claim is in a word of change, or of a state, which are changes by nature.

    A change ends another value of its own moment.
    """
    if one.positive and one.attribute in ("life", "lid"):
        return True
    words = frozenset(str(form.get("says", "")).split())
    if "longer" in words:
        return True
    return "is" not in words and not words.isdisjoint(("married", "joined", "left", "divorced"))


@dataclass
class PlotRun:
    """A plot that is told through the tools, and the model's account of it."""

    plot: Plot
    random: Random
    secrets: bool = False
    times: int | None = None
    """So many times by chance are compared after a step before the last; None: all."""
    driver: ToolDriver = field(default_factory=make_driver)
    drivers: dict[str, ToolDriver] = field(default_factory=dict)
    done: list[Step] = field(default_factory=list)
    turns: dict[str, str] = field(default_factory=dict)
    items: dict[str, str] = field(default_factory=dict)
    said: dict[str, list[Statement]] = field(default_factory=dict)
    waiting: dict[str, str] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    trail: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    words: dict[str, Statement] = field(default_factory=dict)
    apart: set[str] = field(default_factory=set)
    marks: list[tuple[int, int]] = field(default_factory=list)
    """The number of steps done and the position of the log, after each step."""
    checks: int = 0
    step: int = 0

    async def begin_play(self) -> None:
        await self.driver.call("open", name="World")
        claims = [{"kind": "entity", "name": n, "type": t} for n, t in TYPES.items()]
        await self.driver.call("propose", said="They are.", claims=claims[:10])
        await self.driver.call("propose", said="They are too.", claims=claims[10:])
        for reader in READERS if self.secrets else ():
            seen = await self.driver.call("get", of=reader.title())
            own = frozenset((seen["id"],))
            self.drivers[reader] = make_driver("Reader", beside=self.driver, characters=own)

    async def run_steps(self) -> None:
        """Tell each step, and compare readings after it."""
        await self.begin_play()
        for step in self.plot:
            self.step += 1
            if isinstance(step, Claim):
                await self.claim_step(step)
            elif isinstance(step, Scene):
                self.done.append(step)
                await self.open_scene(step)
            elif isinstance(step, Retraction):
                await self.retract_item(step)
            elif isinstance(step, Identity):
                await self.identify_people(step)
            log = play_plot(tuple(self.done)).log
            self.apart |= {each for each in self.said if not self.is_whole(each, View(TABLE, log))}
            for reader, driver in {"": self.driver, **self.drivers}.items():
                viewer = frozenset({reader}) if reader else KEEPER
                if not self.wrong:
                    await self.compare_reads(View(TABLE, log, viewer=viewer), driver, reader)
            if self.wrong:
                return
            self.marks.append((len(self.done), max(at for _, at in await self.driver.heads())))
        await self.compare_earlier_reads()

    async def compare_earlier_reads(self) -> None:
        """Compare some readings as known after each earlier step."""
        played, last = play_plot(tuple(self.done)), self.marks[:-1]
        self.times = 3
        for count, position in last:
            for reader, driver in {"": self.driver, **self.drivers}.items():
                viewer = frozenset({reader}) if reader else KEEPER
                view = View(TABLE, played.log, viewer=viewer, known=played.lengths[count - 1])
                if count and not self.wrong:
                    await self.compare_reads(view, driver, reader, position)

    async def open_scene(self, scene: Scene) -> None:
        """Tell a turn of a new scene, at its time if it has one."""
        asked: dict[str, Any] = {"scene": scene.id, "turns": [{"by": "player", "text": "On."}]}
        if scene.span:
            start, end = scene.span
            asked["when"] = f"{int(start)}" if end - start > 0.5 else f"{int(start)}-07-01"
        self.trail.append(str(asked))
        reply = await self.driver.call("tell", **asked)
        self.turns[scene.id] = reply["turns"][0]["id"]

    async def claim_step(self, step: Claim) -> None:
        one = self.of_kept(step.statement)
        form = dict(self.random.choice(self.forms_now(one)))
        one = replace(one, change=is_change(one, form))
        wrong = self.items.get(step.replaces)
        stands = View(TABLE, play_plot(tuple(self.done)).log).is_standing(step.replaces)
        if wrong is None or not stands or len(self.said[wrong]) > 1:
            step = replace(step, replaces="")
        elif step.replaces:
            form |= {"replaces": wrong, "reason": "It was wrong."}
        self.done.append(replace(step, statement=one))
        played = play_plot(tuple(self.done))
        if one.audience:
            form["for"] = sorted(map(str.title, one.audience))
        authority = AUTHORITIES[one.authority]
        if one.span:
            form["when"] = f"{int(one.span[0])}-04-01"
        self.trail.append(f"{one.id}: {form} in {one.scene} by {authority}")
        reported = (
            {"evidence": [self.turns[one.scene]]} if one.scene else {"said": f"So {one.author}."}
        )
        reply = await self.driver.call("propose", claims=[form], authority=authority, **reported)
        verdict = reply["verdicts"][0]
        self.trail.append(f"   {reply.get('note', '')} {verdict}")
        if "id" in verdict and verdict["verdict"] == "accepted":
            self.items[one.id] = verdict["id"]
            self.said.setdefault(verdict["id"], []).append(one)
        if verdict["verdict"] == "needs review":
            self.waiting[one.id] = verdict["proposal"]
        expected = {"accepted": "accepted", "refused": "rejected", "waits": "needs review"}
        outcome = expected[played.outcomes[one.id]]
        self.note_judged(reply)
        shown = verdict["verdict"]
        if outcome != shown:
            self.wrong.append(f"verdict: model {outcome}, tools {shown}")

    def of_kept(self, one: Statement) -> Statement:
        """A statement of merged people by the name of the one that was kept."""
        view = View(TABLE, play_plot(tuple(self.done)).log)
        return replace(one, subject=view.root_of(one.subject), value=view.root_of(one.value))

    def forms_now(self, one: Statement) -> list[Form]:
        """The claims that say a statement where the model and the tools read it alike.

        A second relation in one scene is a change for the tools, where words contradict. The past
        tense without a time may tell of the life of somebody who is dead now.
        """
        found = [step.statement for step in self.done if isinstance(step, Claim)]
        second = one.scene and any(
            (each.scene, each.attribute) == (one.scene, one.attribute) for each in found
        )
        past = one.span is None and any(each.attribute == "life" for each in found)
        left = [form for form in forms_of(one) if not second or form["kind"] != "relation"]
        tense = {"joined", "married"} if past else set[str]()
        plain = [each for each in left if tense.isdisjoint(str(each.get("says", "")).split())]
        return plain or left

    async def identify_people(self, step: Identity) -> None:
        """Merge two people, or separate them."""
        self.trail.append(str(step))
        self.done.append(step)
        asked = {"verdict": "merge" if step.same else "separate"}
        names = [step.kept, step.other] if step.same else [step.other]
        self.note_judged(await self.driver.call("decide", of=names, reason="So it is.", **asked))

    async def take_back(self, step: Retraction) -> None:
        """Undo the last retraction, if there was one that let no other claim become canon.

        The tools would take that claim back too, and let it wait again.
        """
        gone = [one for one in self.done if isinstance(one, Retraction)]
        gone = [one for one in gone if one.id.partition(":")[0] == step.target]
        if gone and self.last:
            self.trail.append(f"{step.id}: undo")
            self.done += [Retraction(id=f"{step.id}:{one.target}", target=one.id) for one in gone]
            self.note_judged(await self.driver.call("decide", verdict="undo", reason="No."))
            self.items |= self.last
            for claim, item in self.last.items():
                result = next(
                    c.statement
                    for c in self.done
                    if isinstance(c, Claim) and c.statement.id == claim
                )
                self.said.setdefault(item, []).append(result)

    def is_whole(self, item: str, view: View) -> bool:
        """Return whether all that was told of an item is of one time, so that it is one row."""
        reported = self.said[item]
        ids, one = {each.id for each in reported}, reported[0]
        stretches = view.holding_stretches(one.subject, one.attribute) if len(reported) > 1 else []
        return len(reported) == 1 or any(ids <= {*stretch.ids} for stretch in stretches)

    async def retract_item(self, step: Retraction) -> None:
        """Retract an item with all that was told of it, if nothing has retracted it yet."""
        if step.target.startswith("r"):
            await self.take_back(step)
            return
        item = self.items.get(step.target)
        if (
            item is None
            or item in self.apart
            or not View(TABLE, play_plot(tuple(self.done)).log).is_standing(step.target)
        ):
            return
        found = [claim for claim, made in self.items.items() if made == item]
        self.trail.append(f"{step.id}: retract {found}")
        self.last = dict.fromkeys(found, item)
        for claim in found:
            self.done.append(Retraction(id=f"{step.id}:{claim}", target=claim))
            del self.items[claim]
        del self.said[item]
        wrong = {"kind": "retcon", "of": item, "says": "it never was"}
        reply = await self.driver.call("propose", said="No.", claims=[wrong])
        self.note_judged(reply)
        if reply.get("judged_again"):
            self.last = {}

    def note_judged(self, reply: dict[str, Any]) -> None:
        """Note the claims that waited and that a reply says are accepted now."""
        claims = {one.statement.id: one.statement for one in self.done if isinstance(one, Claim)}
        for verdict in reply.get("judged_again", ()):
            own = next(one for one, asked in self.waiting.items() if asked == verdict["proposal"])
            self.trail.append(f"   judged again: {own} {verdict}")
            del self.waiting[own]
            if verdict["verdict"] == "accepted":
                self.items[own] = verdict["id"]
                self.said.setdefault(verdict["id"], []).append(claims[own])

    async def compare_reads(
        self, view: View, driver: ToolDriver, reader: str, position: int | None = None
    ) -> None:
        """Compare readings at many times, as known at a position of the log."""
        asked = {s.attribute for s in view.log if isinstance(s, Statement)}
        scenes = [each.id for _, each in view.entries if isinstance(each, Scene)]
        moments: list[int | str | None] = [None, *range(1394, 1418, 2), *scenes]
        if self.times is not None and (self.step < len(self.plot) or position is not None):
            moments = Random(self.checks).sample(moments, min(self.times, len(moments)))
        for at in moments:
            for name in sorted({s for a in asked for s in VALUES[a][0]}):
                shown = await self.read_page(driver, name, at, view, position)
                for attribute in sorted(a for a in asked if name in VALUES[a][0]):
                    answer = view.answer_about(
                        name, attribute, at + 0.9 if isinstance(at, int) else at
                    )
                    self.checks += 1
                    model = set(answer.values)
                    if model != shown.get(attribute, set()):
                        self.wrong.append(
                            f"{name}.{attribute} at {at} to {reader} as known at {position}:"
                            f" model {model}, tools {shown.get(attribute, set())}"
                        )

    async def read_page(
        self,
        driver: ToolDriver,
        name: str,
        at: int | str | None,
        view: View,
        position: int | None,
    ) -> dict[str, set[str]]:
        """The values that a page shows of an entity, by attribute."""
        moment = {} if at is None else {"at": f"{at}-12-31" if isinstance(at, int) else at}
        moment |= {} if position is None else {"as_known_at": str(position)}
        reply = await driver.call("get", of=name, full=True, **moment)
        own = view.root_of(name)
        found: dict[str, set[str]] = {}
        for tag in reply.get("tags", ()):
            for attribute in ("life", "lid"):
                if tag in VALUES[attribute][1] and name in VALUES[attribute][0]:
                    found.setdefault(attribute, set()).add(tag)
        for row in (*reply.get("facts", ()), *reply.get("relations", ())):
            if row.keys() & {"planned", "later"}:
                continue
            known = self.said.get(row["id"], [])
            self.words |= {row["says"]: known[0]} if known else {}
            for one in known or [self.words[each] for each in (row["says"],) if each in self.words]:
                if not one.positive or one.modality != "asserted":
                    continue
                if view.root_of(one.subject) == own:
                    found.setdefault(one.attribute, set()).add(view.root_of(one.value))
                elif TABLE[one.attribute].symmetric and view.root_of(one.value) == own:
                    found.setdefault(one.attribute, set()).add(view.root_of(one.subject))
        return found
