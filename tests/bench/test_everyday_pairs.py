"""Statements of daily life, games and work: those that conflict, and those that only sound so."""

import re
from collections.abc import Sequence

import pytest

from bench.contradictions.grader import grade
from bench.contradictions.pairs import Half, Label, Side, read_set

NAMES = ("Bea", "Carl", "Dan", "Eva", "Fay", "Velm", "Bern", "Oslo", "Aude", "Blaise", "Cyril")

CONFLICTS = """
The report is due on Friday. | The deadline for the report is Monday.
The exam is scheduled for 3 May. | The exam is on 10 May.
Velm is 12 km from Bern. | Bern lies 40 km away from Velm.
The pass costs five euros for students. | The pass costs nine euros for students.
Entry is free. | Entry costs five euros.
Bea owes Carl 50 euros. | Bea owes Carl 80 euros.
The server has 32 GB of memory. | The server has 16 GB of memory.
The bus seats nine people. | The bus has room for fourteen passengers.
Bea's eldest daughter is Eva. | Fay is Bea's eldest daughter.
Bea is divorced. | Bea and Carl are married.
Carl is Dan's younger brother. | Carl is older than Dan.
Bea has blood type O. | Bea's blood type is A.
Bea is diabetic. | Bea does not have diabetes.
The gate is guarded by two trolls. | Nobody guards the gate.
The gate is unguarded. | The gate is guarded by Carl.
Nobody lives in the tower. | The tower is inhabited.
The lift is out of service. | The lift is working.
The road is blocked. | The road is clear.
Room 12 is booked on Friday. | Room 12 is free on Friday.
Bea is free on Friday. | Bea is busy on Friday.
The flat is vacant. | The flat is occupied.
Bea has no job. | Bea works as a nurse.
Bea has quit smoking. | Bea smokes a pipe.
Bea sits on the committee. | Bea is not on the committee.
Bea went to Rome in 2010. | Bea has never been to Rome.
The app requires a licence. | The app needs no licence.
The test was held on Monday. | The test took place on Friday.
Heating is not included in the rent. | The rent includes heating.
Carl wields a sword. | Carl is unarmed.
Carl has a strength of 12. | Carl's strength is 16.
Carl was killed in a duel. | Carl died of a fever.
Aude vit en Espagne. | Aude habite en Suède.
Aude est allergique aux noix. | Aude n'a aucune allergie.
Le pont a été construit en 1890. | Le pont fut construit en 1912.
Le train part à 8 h 15. | Le train part à 9 h 40.
Le village compte 300 habitants. | Le village a 900 habitants.
Blaise est plus âgé que Cyril. | Cyril est plus âgé que Blaise.
Aude n'a pas de frères ni de sœurs. | Aude a deux sœurs.
Le film dure deux heures. | Le film dure cinq heures.
Le village est à dix kilomètres de la mer. | Le village est à trente kilomètres de la mer.
Aude fait partie du conseil. | Aude ne fait pas partie du conseil.
"""

LOOKALIKES = """
The report is due on Friday. | The meeting about the report is on Monday.
The conference is in June. | The deadline for the conference is 1 March.
Velm is 12 km from Bern. | Velm is 40 km from Oslo.
Velm is 12 km long. | Velm is 30 km from Bern.
The ticket costs five euros for students. | The ticket costs nine euros for adults.
Bea owes Carl 50 euros. | Bea owes Dan 80 euros.
Bea has two litres of milk. | Bea has one litre of water.
Bea's eldest daughter is Eva. | Bea's youngest daughter is Fay.
Bea's eldest daughter is Eva. | Bea's daughter Fay studies law.
Bea lost her job. | Bea works as a nurse.
Bea works as a nurse. | Bea doesn't work on Sundays.
Bea did not eat all the cake. | Bea ate the cake.
Bea does not run every day. | Bea runs.
Bea doesn't trust Carl completely. | Bea trusts Carl.
Bea doesn't know Carl well. | Bea knows Carl.
Bea only drinks tea. | Bea drinks tea.
Bea doesn't eat meat. | Bea eats meat again.
Nobody opened the door. | The door is open.
Nobody but Carl guards the gate. | The gate is guarded by Carl.
The password expires after 90 days. | The password is valid.
Bea has a frog in her throat. | Bea has no frog.
Bea went to bed. | Bea has never been to Bern.
Le maire serait mort. | Le maire est vivant.
Aude a dix ans d'expérience. | Aude a quarante ans.
Le bateau est à Brest. | Le bateau appartient à Aude.
Blaise est mort aux yeux de son père. | Blaise est vivant.
Blaise n'est pas parti hier. | Blaise est parti.
Blaise ne chante pas bien. | Blaise chante.
Blaise n'a pas lu tout le livre. | Blaise a lu le livre.
Aude ne parle pas qu'anglais. | Aude parle anglais.
Aude a un chat dans la gorge. | Aude n'a pas de chat.
Le billet coûte dix euros pour les adultes. | Le billet coûte cinq euros pour les enfants.
"""


def pairs(text: str) -> Sequence[tuple[str, str]]:
    found = [line.split(" | ") for line in text.strip().splitlines()]
    return [(one, other) for one, other in found]


def side(statement: str) -> Side:
    linked = [name for name in NAMES if re.search(rf"\b{name}\b", statement)]
    return Side(statement=statement, entities=tuple(linked))


@pytest.mark.parametrize(("held", "claim"), pairs(CONFLICTS))
def test_statements_that_cannot_both_be_true_conflict(held: str, claim: str) -> None:
    assert grade(side(held), side(claim)) == "contradiction"


@pytest.mark.parametrize(("held", "claim"), pairs(LOOKALIKES))
def test_statements_that_only_sound_opposed_do_not_conflict(held: str, claim: str) -> None:
    assert grade(side(held), side(claim)) is None


@pytest.mark.parametrize("half", Half)
def test_the_halves_of_the_everyday_pairs_have_the_same_size_and_labels(half: Half) -> None:
    found = [pair for pair in read_set("everyday") if pair.half is half]
    labels = [pair.label for pair in found]

    assert {pair.language for pair in found} == {"en", "fr"}
    assert len(found) == 80
    assert labels.count(Label.CONTRADICTION) == 39
    assert labels.count(Label.COMPATIBLE) == 40
