"""Clefts, inversions and opposite verbs, and lookalikes that exclude nothing."""

import os
import subprocess
import sys
from typing import Final

import pytest

from canonry.log.items.proposals import Grade
from tests.domain.row_grades import grades_of_row

NAMES = ["Acme", "Ana", "Bo", "Cardiff", "Corvin", "Gull", "Ida", "Leeds", "Lena", "Petter"]
NAMES += ["Rome", "Velm", "Zed"]

EXCLUDING: Final = [
    "The mill burned down in 1887. | It was in 1891 that the mill burned down.",
    "Zed killed Ana. | It wasn't Zed who killed Ana.",
    "Zed killed Ana. | It was not Zed that killed Ana.",
    "The ticket was closed by Lena. | It wasn't Lena who closed the ticket.",
    "Bo works at Acme. | It's not Acme that Bo works at.",
    "Bo joined Acme in 2009. | It wasn't until 2015 that Bo joined Acme.",
    "Velm was founded in 1200. | It was not until 1350 that Velm was founded.",
    "The shop opens at nine. | It is at ten that the shop opens.",
    "Bo plays the piano. | It isn't the piano that Bo plays.",
    "Ana's mother is Ida. | It is Marta who is Ana's mother.",
    "Bo lives in Leeds. | Cardiff is where Bo lives.",
    "Bo was born in Leeds. | Cardiff is the city where Bo was born.",
    "Bo was born in Leeds. | Cardiff is the place where Bo was born.",
    "Bo was born in 1980. | 1990 is the year in which Bo was born.",
    "Bo was born in 1980. | 1990 was the year Bo was born.",
    "Ana learned to swim. | Swimming is something that Ana never learned.",
    "Ana can swim. | Swimming is something Ana cannot do.",
    "Bo speaks Dutch. | Dutch is a language that Bo does not speak.",
    "Bo speaks Dutch. | Dutch is not a language Bo speaks.",
    "Bo eats fish. | Fish is something Bo never eats.",
    "Bo eats fish. | What Bo never eats is fish.",
    "Only Bo has a key to the vault. | The only one with a key to the vault is Ana.",
    "Zed killed Ana. | The one who killed Ana was Bo.",
    "Zed was killed by Ana. | The person who killed Zed was Bo.",
    "Zed was killed by Ana. | Bo was the one who killed Zed.",
    "Ana closed the ticket. | Ana wasn't the one who closed the ticket.",
    "Ana wrote the letter. | Ana is not the person who wrote the letter.",
    "The map was drawn by Ida. | Corvin was the one who drew the map.",
    "The chair of the council is Ida. | Chairing the council is Petter.",
    "Bo doesn't drink wine. | With his dinner, Bo drinks wine.",
    "Bo is the smith of Velm. | Bo, however, is not the smith of Velm.",
    "Bo can swim. | Bo, one of the five dwarves, cannot swim.",
    "Bo can swim. | Bo, like his brother, cannot swim.",
    "Bo can swim. | Bo, not yet five, cannot swim.",
    "Bo can swim. | Bo, now sixty, cannot swim.",
    "Ana has no cat. | Apart from her dog, Ana has a cat.",
    "Ana has two cats. | Apart from the old tabby, Ana has no cat.",
    "Bo drank a beer. | Bo drank nothing but water.",
    "Ana broke her left arm. | Ana broke nothing but her right arm.",
    "The baker's is open on Sundays. | On Sundays, the baker's is closed.",
    "Ida is married to Bo. | The woman Bo is married to is Marta.",
    "Bo's job at the hospice is full-time. | The job that Bo has at the hospice is part-time.",
    "Bo's job at the hospice is full-time. | The job Bo has at the hospice is a part-time one.",
    "The violin that Ida plays is her own. | The violin that Ida plays isn't her own.",
    "Ana baked the cake. | Somebody else baked the cake, not Ana.",
    "Ana baked the cake. | The cake was baked by someone else, and not by Ana.",
    "Bo passed the exam. | Bo failed the exam.",
    "Bo passed the exam. | Bo has failed the exam.",
    "Bo passes every exam. | Bo fails every exam.",
    "Bo attended the meeting. | Bo missed the meeting.",
    "Bo caught the train. | Bo missed the train.",
    "Bo won the match. | Bo lost the match.",
    "The council approved the plan. | The council vetoed the plan.",
    "The plan was accepted. | The plan was rejected.",
    "The plan was approved. | The plan was rejected by the board.",
    "Bo accepted the job. | Bo turned the job down.",
    "The offer was accepted by Bo. | Bo turned down the offer.",
    "The board approved the plan. | The plan was rejected by the board.",
    "The water bill was not paid. | I paid the water bill.",
    "Ida paid the water bill. | The water bill wasn't paid.",
    "A keeper mans the lighthouse. | The lighthouse is unmanned.",
    "The lighthouse is manned. | The lighthouse is unmanned.",
    "The bug has been fixed. | The bug remains unfixed.",
    "The letter was opened. | The letter was unopened.",
    "Bo invited Ana. | Ana was not invited.",
    "Bo invited Ana. | Ana was not invited by Bo.",
    "Ana is guilty of arson. | Ana was acquitted of arson.",
    "The jury found Ana guilty of arson. | Ana was acquitted of arson by the jury.",
    "Ana was convicted of theft. | Ana is innocent of the theft.",
    "The backup is started automatically. | Somebody has to start the backup by hand.",
    "The door opens by itself. | The door has to be opened by hand.",
    "The ghost is visible. | The ghost is invisible.",
    "The account is active. | The account is inactive.",
    "Bo was conscious. | Bo lay there unconscious.",
    "Bo is a smoker. | Bo is a non-smoker.",
    "Employees must report lost laptops. | Employees are not obliged to report lost laptops.",
    "Bo knows who stole the stone. | Bo has no idea who stole the stone.",
    "The cake was eaten. | The cake remained uneaten.",
    "Bo has yet to pay the bill. | Bo paid the bill.",
    "Ana never managed to open the door. | Ana opened the door.",
    "Ana remembered to lock the door. | Ana forgot to lock the door.",
    "Bo left the room without saying goodbye. | Bo said goodbye.",
    "Bo closed the ticket without merging it. | Bo merged the ticket.",
    "Bo avoided paying the fine. | Bo paid the fine.",
    "Bo succeeded in opening the vault. | Bo did not open the vault.",
    "Bo managed to open the vault. | Bo failed to open the vault.",
    "Guests are free to use the pool. | Guests are forbidden to use the pool.",
    "Mages are allowed to wear armour. | Mages are barred from wearing armour.",
    "Bo is forbidden to smoke. | Bo is allowed to smoke.",
    "Bo may drive. | Bo is not permitted to drive.",
    "Ana is capable of flying. | Ana cannot fly.",
    "Ana never learned swimming. | Ana can swim.",
    "There is nothing that Bo fears. | Bo fears snakes.",
    "There is nothing that Bo is allergic to. | Bo is allergic to nuts.",
    "Bo hasn't a single friend. | Bo has a friend.",
    "Beside the mill stands a chapel. | The chapel is not beside the mill.",
    "Bo keeps the letters. | Bo discards the letters.",
    "The website is up on Mondays. | The website is down on Mondays.",
    "Bo stopped smoking in 2019. | Bo smokes a pipe.",
    "Bo gave up smoking last year. | Bo smokes cigarettes.",
    "Bo is available after ten. | Bo is not available after ten.",
    "Bo is busy until noon. | Bo is not busy until noon.",
    "Dogs may be brought into the barn. | Dogs are not allowed in the barn.",
    "Prams are not allowed in the gallery. | Prams may be taken into the gallery.",
    "Bikes are not allowed on the ferry. | Bikes may be taken on the ferry.",
    "Sledges may not be taken onto the cable car. | Sledges are allowed on the cable car.",
    "Dogs are not allowed on the pier. | Dogs may go on the pier.",
    "Each player starts with five coins. | Every player begins the game with six coins.",
    "Players start the game with three lives. | Players start the game with five lives.",
]

COMPATIBLE: Final = [
    "The shop opens at nine. | It is at nine that the shop opens.",
    "Zed killed Ana. | It was Zed who killed Ana.",
    "Bo plays the piano. | It isn't the violin that Bo plays.",
    "Ana wrote the letter. | The one who wrote the letter was Ana.",
    "Bo drank water. | Bo drank nothing but water.",
    "Ana baked the cake. | The cake was baked by nobody other than Ana.",
    "The lighthouse is manned. | The lighthouse is not unmanned.",
    "Bo invited Ana. | Ana was not invited by Zed.",
    "Zed killed Ana. | It was Zed who killed Ana, not Bo.",
    "Bo joined Acme in 2015. | It wasn't until 2015 that Bo joined Acme.",
    "Bo speaks Dutch. | Dutch is a language that Bo speaks.",
    "Bo speaks Dutch. | French is a language that Bo does not speak.",
    "Ana can swim. | Skating is something Ana cannot do.",
    "Ana closed the ticket. | Bo wasn't the one who closed the ticket.",
    "Ana baked the cake. | The cake was baked by somebody other than Bo.",
    "Bo lives in Leeds. | Cardiff is where Bo works.",
    "Bo was born in Leeds. | Cardiff is the city where Ida was born.",
    "Ana missed the train. | Ana caught the bus.",
    "Ana missed the meeting. | Ana attended the dinner.",
    "Ana failed the exam. | Ana passed the driving test.",
    "Ana did not fail the exam. | Ana passed the exam.",
    "Bo did not refuse the offer. | Bo accepted the offer.",
    "Bo lost the match. | Bo won the cup.",
    "Bo lost the key. | Bo won the match.",
    "Bo forgot to lock the door. | Bo locked the gate.",
    "Bo forgot the key. | Bo remembered the map.",
    "Bo refused the first offer. | Bo accepted the second offer.",
    "The board rejected the plan. | The board approved the budget.",
    "The report was signed by Ida. | The letter was not signed.",
    "The letter was not signed by Bo. | Ida signed the letter.",
    "The lighthouse is unmanned. | A keeper mans the gate.",
    "The house is unfinished. | The barn is finished.",
    "Ana was not invited to the wedding. | Bo invited Ana to the party.",
    "The bug was not fixed in version 2. | Bo fixed the bug in version 3.",
    "Bo left the room without saying a word. | Bo said that he was tired.",
    "Bo closed the ticket without merging it. | Bo merged the branch.",
    "Bo drank nothing but water. | Ana drank a beer.",
    "Ana was acquitted of arson. | Ana is guilty of theft.",
    "Ana is not obliged to wear a badge. | Ana wears a badge.",
    "Bo, however, is tall. | Bo is tall.",
    "Bo, one of the dwarves, can swim. | Ida, one of the dwarves, cannot swim.",
    "Guests may bring dogs. | Guests brought no dogs.",
    "Chairing the council is Petter. | Petter is the chair of the council.",
    "On Sundays, the shop is closed. | On Mondays, the shop is open.",
    "In the tower is a chest. | The tower has a door.",
    "What Bo wants is a horse. | Bo has no horse.",
    "It is a pity that Bo died. | Bo is dead.",
    "Nobody other than Bo has a key. | Bo has a key.",
    "The job that Bo has at Acme is part-time. | The job that Ana has at Acme is full-time.",
    "Apart from her dog, Ana has no pets. | Ana has a dog.",
    "Ana managed to open the door. | Ana opened the door.",
    "Ana never managed to open the door. | Ana opened the window.",
    "Bo has yet to pay the bill. | Ana paid the bill.",
    "Bo may win the match. | Bo will not win the match.",
    "Bo may not come. | Bo comes to the feast.",
    "Bo may not smoke. | Bo smokes.",
    "Ana is not allowed to drive. | Ana can drive.",
    "The guests are not permitted to dance. | The guests dance.",
    "Ana skipped breakfast. | Ana attended the meeting.",
    "Bo kept the ring. | Bo lost the sword.",
    "Bo returned the book. | Bo kept the bag.",
    "Ida left the choir. | Ida stays at home.",
    "The shop sells bread. | Bo keeps the shop.",
    "Bo keeps bees. | Bo sells honey.",
    "Bo keeps dogs. | Bo sells dogs.",
    "Bo broke the vase. | Bo keeps the vase on the shelf.",
    "The server Zed is down for repairs every Sunday. | The server Zed is up on weekdays.",
    "The lift is down every Friday. | The lift works on Mondays.",
    "Bo stopped smoking cigars. | Bo smokes a pipe.",
    "Bo gave up smoking weed. | Bo smokes cigarettes.",
    "Bo stopped smoking in the house. | Bo smokes on the terrace.",
    "Bo is available after lunch. | Bo is not available before ten.",
    "Bo is available after ten. | Bo is not available before ten.",
    "Bo is busy until noon. | Bo is available from one.",
    "Bo is not reachable before 9:30. | Bo is reachable after 9:30.",
    "Dogs may be brought into the barn. | Dogs are not allowed in the kitchen.",
    "Bikes may be taken on the ferry. | Dogs are not allowed on the ferry.",
    "Each player starts with five coins. | Each player has three coins at the end.",
    "Each player starts with five coins. | Each player may hold ten coins.",
]


@pytest.mark.parametrize("row", EXCLUDING)
def test_the_same_deed_in_another_shape_contradicts_its_denial(row: str) -> None:
    assert Grade.CONTRADICTION in grades_of_row(row, NAMES)


@pytest.mark.parametrize("row", COMPATIBLE)
def test_another_deed_or_person_in_the_same_shape_is_compatible(row: str) -> None:
    assert grades_of_row(row, NAMES) == set()


def test_every_process_reads_a_sentence_as_the_same_statements() -> None:
    code = (
        "import sys\n"
        "from canonry.language.reading.reading import read_statements\n"
        "for line in sys.stdin:\n"
        "    for one in read_statements(line, {}): print(one.to_json())\n"
    )
    sentences = "\n".join(EXCLUDING).replace(" | ", "\n")
    read = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=sentences,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }

    assert len(read) == 1
    assert "did:" in read.pop()
