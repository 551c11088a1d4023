"""Compare the replies at the end of a campaign, in any order of recording."""

from tests.campaign.model import MASTERS
from tests.campaign.play import Table
from tests.campaign.plots import DOUBLES, HEROES
from tests.campaign.viewer_checks import RELATIONS, VIEWERS, ViewerCheck, joined


async def taken(table: Table) -> list[tuple[object, ...]]:
    """The end of a campaign that is played without the model, whatever waits being accepted."""
    await table.open()
    for step in table.plot.steps:
        if not isinstance(step, int):
            await table.step(step)
            continue
        scene = table.plot.scenes[step - 1]
        for said in scene.said:
            await table.propose(scene, said)
        done = await table.world.call("composite_canonize_scene", scene_id=table.scenes[step])
        for waiting in done["pending_proposals"]:
            await table.world.call(
                "mongodb_evaluate_proposal",
                proposal_id=waiting,
                decision="accepted",
                rationale="so it was",
            )
    viewers = VIEWERS if table.plot.secrets else (MASTERS,)
    looks = [ViewerCheck(played=table, truth=table.truth, viewer=viewer) for viewer in viewers]
    return [one for look in looks for one in await _shown(table, look)]


async def result(table: Table) -> list[tuple[object, ...]]:
    """The end of a campaign that was played."""
    return await _shown(table, ViewerCheck(played=table, truth=table.truth))


async def _shown(table: Table, look: ViewerCheck) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for hero in (*HEROES, *DOUBLES.values()):
        shown = await look.call("neo4j_get_entity", entity_id=table.ids[hero])
        found.append((look.viewer, hero, shown["state_tags"]))
    lines = {table.truth.rooted(listed.line) for listed in table.proposed.values()}
    listed = [
        (look.viewer, line, joined(await look.relations(line)))
        for line in sorted(line for line in lines if line[0] in RELATIONS)
    ]
    return [*found, *listed, (look.viewer, "timeline", await look.timeline())]
