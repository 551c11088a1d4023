"""Contradictions, changes and lookalikes in German, French and Spanish words."""

from typing import Final

import pytest

from canonry.canon.judging.conflicts import find_clash
from canonry.language.reading.reading import read_statements

NAMES: Final = """
Anke
Bodo
Mira
Grete
Udo
Tilda
Ragnar
Emden
Kassel
Velm
Waldheim
Goldkrone
Nebelklinge
Café Linde
Lucie
Benoît
Margot
Thibault
Valmont
Lorient
Dijon
Café Bleu
Brise-Nuit
Lucía
Ramón
Elvira
Baltasar
Toledo
Cádiz
Montalbán
Bar Luna
Filo Negro
""".strip().splitlines()
"""The known names. Each row has what stands, what somebody says, and what follows between them."""

GERMAN: Final = """
contradicts | Bodo ist tot. | Bodo ist noch am Leben.
contradicts | Bodo ist tot. | Bodo ist quicklebendig.
contradicts | Der Räuber Bodo ist verstorben. | Der Räuber Bodo lebt.
contradicts | Bodo weilt unter den Lebenden. | Bodo ist tot.
contradicts | Ragnar ist im Kerker eingesperrt. | Ragnar ist frei.
contradicts | Ragnar wird in Velm gefangen gehalten. | Ragnar ist ein freier Mann.
contradicts | Ragnar ist angekettet. | Ragnar ist frei.
contradicts | Ragnar befindet sich in Haft. | Ragnar ist in Freiheit.
contradicts | Der Bürgermeister von Velm ist Bodo. | Die Bürgermeisterin von Velm ist Mira.
contradicts | Bodo ist der Bürgermeister von Velm. | Mira ist die Bürgermeisterin von Velm.
contradicts | Bodo ist der Schulleiter von Waldheim. | Schulleiterin von Waldheim ist Mira.
contradicts | Der Statthalter von Velm heißt Bodo. | Der Statthalter von Velm heißt Udo.
contradicts | Die Fürstin von Velm ist Mira. | Die Fürstin von Velm ist Tilda.
contradicts | Der Besitzer der Mühle ist Bodo. | Die Besitzerin der Mühle ist Mira.
contradicts | Die Nebelklinge gehört Ragnar. | Die Nebelklinge gehört Tilda.
contradicts | Die Nebelklinge ist Ragnars Eigentum. | Die Nebelklinge gehört Tilda.
contradicts | Das Boot gehört Anke. | Das Boot gehört Anke nicht.
contradicts | Ankes Hund heißt Rex. | Ankes Hund heißt Bello.
contradicts | Der Wirt der Goldkrone heißt Bodo. | Der Wirt der Goldkrone heißt Udo.
contradicts | Ankes Mutter heißt Grete. | Ankes Mutter heißt Tilda.
contradicts | Anke ist vierunddreißig Jahre alt. | Anke ist einundvierzig Jahre alt.
contradicts | Anke ist 34. | Anke ist einundvierzig.
contradicts | Tilda ist hundertzwanzig Jahre alt. | Tilda ist achtzig Jahre alt.
contradicts | Anke ist minderjährig. | Anke ist 34 Jahre alt.
contradicts | Velm hat dreitausend Einwohner. | Velm hat zwölftausend Einwohner.
contradicts | Die Brücke ist siebenundzwanzig Meter lang. | Die Brücke ist 35 Meter lang.
contradicts | Anke hat zwei Söhne. | Anke hat drei Söhne.
contradicts | Waldheim zählt 800 Einwohner. | Waldheim hat 1.200 Einwohner.
contradicts | Der Eintritt kostet acht Euro. | Der Eintritt ist kostenlos.
contradicts | Der Mitgliedsbeitrag beträgt 60 Euro. | Der Mitgliedsbeitrag beträgt 80 Euro.
contradicts | Das Schwert kostet vierzig Goldstücke. | Das Schwert kostet sechzig Goldstücke.
contradicts | Ankes Miete beträgt 700 Euro. | Anke zahlt 850 Euro Miete.
contradicts | Das Café Linde hat sonntags zu. | Das Café Linde hat sonntags offen.
contradicts | Das Café Linde öffnet um acht Uhr. | Das Café Linde macht um zehn Uhr auf.
contradicts | Das Café Linde hat täglich geöffnet. | Das Café Linde ist dienstags geschlossen.
contradicts | Die Bibliothek hat samstags geschlossen. | Die Bibliothek ist samstags offen.
contradicts | Ankes Blutgruppe ist A. | Ankes Blutgruppe ist B.
contradicts | Anke hat Blutgruppe 0 negativ. | Anke hat Blutgruppe AB positiv.
contradicts | Anke ist kerngesund. | Anke ist schwer krank.
contradicts | Anke ist gegen Nüsse allergisch. | Anke hat keine Allergien.
contradicts | Udo ist blind. | Udo kann sehen.
contradicts | Udo ist taub. | Udo hört ausgezeichnet.
contradicts | Udo ist geimpft. | Udo ist nicht geimpft.
contradicts | Die Nebelklinge ist zerbrochen. | Die Nebelklinge ist unbeschädigt.
contradicts | Das Fenster ist kaputt. | Das Fenster ist heil.
contradicts | Der Aufzug ist defekt. | Der Aufzug funktioniert.
contradicts | Das Tor von Velm steht offen. | Das Tor von Velm ist zu.
contradicts | Die Tür ist abgeschlossen. | Die Tür steht weit offen.
contradicts | Der Brunnen ist versiegt. | Der Brunnen ist voll.
contradicts | Die Truhe ist leer. | Die Truhe ist randvoll.
contradicts | Die Burg Velm liegt in Trümmern. | Die Burg Velm ist unversehrt.
contradicts | Die Rechnung ist bezahlt. | Die Rechnung ist noch offen.
contradicts | Anke stammt gebürtig aus Kassel. | Anke ist in Emden geboren.
contradicts | Anke wurde 1980 geboren. | Anke ist 1984 geboren.
contradicts | Ankes Geburtstag ist am 3. Mai. | Anke hat am 5. Juni Geburtstag.
contradicts | Die Sitzung beginnt um neun Uhr. | Die Sitzung beginnt um elf Uhr.
contradicts | Der Abgabetermin ist der 1. März. | Der Abgabetermin ist der 15. März.
contradicts | Anke hat keine Geschwister. | Anke hat eine ältere Schwester.
contradicts | Anke ist Bodos Mutter. | Grete ist Bodos Mutter.
contradicts | Anke ist Bodos Schwester. | Anke ist Bodos Tante.
contradicts | Anke ist kinderlos. | Anke hat zwei Töchter.
contradicts | Anke ist ledig. | Anke ist verheiratet.
contradicts | Ankes Mann heißt Udo. | Ankes Ehemann heißt Bodo.
contradicts | Anke ist Veganerin. | Anke isst Fleisch.
contradicts | Anke ist Vegetarierin. | Anke isst gern Wurst.
contradicts | Anke trinkt keinen Alkohol. | Anke trinkt abends Wein.
contradicts | Anke raucht nicht. | Anke raucht.
contradicts | Anke lebt vegan. | Anke isst jeden Tag Fleisch.
contradicts | Ankes Augen sind blau. | Anke hat grüne Augen.
contradicts | Ankes Katze ist ein Kater. | Ankes Katze ist ein Weibchen.
contradicts | Ankes Hund ist ein Rüde. | Ankes Hund ist eine Hündin.
contradicts | Anke arbeitet samstags. | Anke arbeitet samstags nicht.
contradicts | Anke ist arbeitslos. | Anke arbeitet bei der Post.
contradicts | Anke hat einen Führerschein. | Anke hat keinen Führerschein.
contradicts | Anke kann schwimmen. | Anke kann nicht schwimmen.
contradicts | Anke hat nie in Emden gewohnt. | Anke hat früher in Emden gewohnt.
contradicts | Ragnar hat die Truhe gestohlen. | Ragnar hat die Truhe nicht gestohlen.
contradicts | Nur Bodo kennt das Versteck. | Mira kennt das Versteck.
contradicts | Ragnar ist in Velm angekommen. | Ragnar ist noch nicht in Velm angekommen.
contradicts | Der Ring ist echt. | Der Ring ist eine Fälschung.
contradicts | Das Treffen ist abgesagt. | Das Treffen findet statt.
contradicts | Rauchen ist im Café Linde verboten. | Im Café Linde ist Rauchen erlaubt.
ends | Bodo lebt. | Bodo fiel in der Schlacht.
ends | Bodo lebt. | Ragnar hat Bodo umgebracht.
ends | Bodo lebt. | Bodo erlag seinen Verletzungen.
ends | Bodo lebt. | Bodo wurde hingerichtet.
ends | Bodo lebt. | Bodo ist ums Leben gekommen.
ends | Bodo lebt. | Bodo wurde tot aufgefunden.
ends | Bodo lebt. | Bodo verlor in Velm sein Leben.
ends | Die Mühle gehört Bodo. | Bodo hat die Mühle an Mira verkauft.
ends | Die Nebelklinge gehört Bodo. | Bodo hat Mira die Nebelklinge geschenkt.
ends | Die Nebelklinge gehört Bodo. | Bodo hat die Nebelklinge verschenkt.
ends | Die Mühle gehört Bodo. | Mira hat die Mühle gekauft.
ends | Anke wohnt in Kassel. | Anke ist nach Emden gezogen.
ends | Anke wohnt in Kassel. | Anke ist von Kassel nach Emden umgezogen.
ends | Anke wohnt in Kassel. | Anke ist aus Kassel weggezogen.
ends | Anke wohnt in Kassel. | Anke wohnt jetzt in Emden.
ends | Anke arbeitet bei der Post. | Anke hat bei der Post gekündigt.
ends | Anke arbeitet bei der Post. | Anke wurde von der Post entlassen.
ends | Anke arbeitet bei der Post. | Anke arbeitet nicht mehr bei der Post.
ends | Anke ist Mitglied im Chor. | Anke ist aus dem Chor ausgetreten.
ends | Anke singt im Chor. | Anke hat den Chor verlassen.
ends | Ragnar ist gefangen. | Ragnar wurde befreit.
ends | Ragnar ist gefangen. | Ragnar ist aus dem Kerker geflohen.
ends | Ragnar ist im Gefängnis. | Ragnar wurde freigelassen.
ends | Ragnar ist im Gefängnis. | Ragnar wurde aus der Haft entlassen.
ends | Ragnar sitzt im Kerker. | Ragnar ist ausgebrochen.
ends | Ragnar ist frei. | Ragnar wurde verhaftet.
ends | Ragnar ist frei. | Die Wachen haben Ragnar festgenommen.
ends | Die Nebelklinge ist heil. | Die Nebelklinge ist zerbrochen worden.
ends | Die Nebelklinge ist intakt. | Ragnar hat die Nebelklinge zerbrochen.
ends | Die Nebelklinge ist intakt. | Die Nebelklinge ging entzwei.
ends | Der Aufzug ist kaputt. | Der Aufzug wurde repariert.
ends | Der Aufzug ist kaputt. | Der Aufzug ist wieder ganz.
ends | Das Dach ist kaputt. | Udo hat das Dach geflickt.
ends | Anke ist mit Udo verheiratet. | Anke und Udo haben sich scheiden lassen.
ends | Anke ist mit Udo verheiratet. | Anke hat sich von Udo scheiden lassen.
ends | Anke ist mit Udo verheiratet. | Anke und Udo sind geschieden.
ends | Anke ist ledig. | Anke hat Udo geheiratet.
ends | Anke ist mit Udo verlobt. | Anke und Udo haben sich entlobt.
ends | Anke ist mit Udo verlobt. | Anke hat die Verlobung mit Udo gelöst.
ends | Das Tor ist offen. | Bodo hat das Tor geschlossen.
ends | Die Truhe ist verschlossen. | Tilda hat die Truhe aufgebrochen.
ends | Die Truhe ist verschlossen. | Tilda hat die Truhe aufgeschlossen.
ends | Die Fackel brennt. | Die Fackel ist ausgegangen.
ends | Die Kerze brennt. | Udo hat die Kerze ausgeblasen.
ends | Anke ist krank. | Anke ist wieder gesund.
ends | Anke ist krank. | Anke hat sich erholt.
ends | Anke ist gesund. | Anke ist erkrankt.
ends | Anke raucht. | Anke hat mit dem Rauchen aufgehört.
ends | Anke raucht. | Anke hat das Rauchen aufgegeben.
ends | Bodo ist Bürgermeister von Velm. | Bodo ist als Bürgermeister von Velm zurückgetreten.
ends | Das Café Linde ist geschlossen. | Das Café Linde hat wieder geöffnet.
ends | Die Burg Velm ist unversehrt. | Die Burg Velm ist niedergebrannt.
ends | Ankes Miete beträgt 640 Euro. | Ankes Miete wurde auf 690 Euro erhöht.
ends | Ankes Miete beträgt 640 Euro. | Ankes Miete ist auf 690 Euro gestiegen.
ends | Das Konzert ist am Freitag. | Das Konzert wurde auf Samstag verschoben.
ends | Die Truhe ist leer. | Udo hat die Truhe gefüllt.
ends | Die Rechnung ist unbezahlt. | Anke hat die Rechnung bezahlt.
ends | Anke schläft. | Anke ist aufgewacht.
ends | Anke ist betrunken. | Anke ist wieder nüchtern.
ends | Mira ist schwanger. | Mira hat eine Tochter geboren.
beside | Bodo lebt. | Bodo ist todmüde.
beside | Bodo lebt. | Bodo hat sich totgelacht.
beside | Bodo lebt. | Bodo wäre fast ertrunken.
beside | Bodo lebt. | Man sagt, Bodo sei tot.
beside | Bodo lebt. | Mira träumte, Bodo sei gestorben.
beside | Bodo lebt. | Bodo ist beinahe gestorben.
beside | Bodo lebt. | Bodo stirbt in der Oper.
beside | Bodo lebt. | Bodo fiel in Ohnmacht.
beside | Bodo lebt. | Bodo fiel vom Stuhl.
beside | Ragnar ist frei. | Ragnar sitzt im Garten.
beside | Ragnar ist frei. | Ragnar hat am Montag frei.
beside | Ragnar sitzt im Gefängnis. | Ragnars Bruder ist frei.
beside | Ragnar sitzt im Gefängnis. | Ragnar hat samstags frei.
beside | Ragnar ist im Kerker. | Ragnar ist angeblich frei.
beside | Ragnar ist im Kerker. | Ragnar hofft, bald frei zu sein.
beside | Anke wohnt in Kassel. | Anke wohnte früher in Emden.
beside | Anke wohnt in Kassel. | Anke arbeitet in Emden.
beside | Anke wohnt in Kassel. | Ankes Bruder wohnt in Emden.
beside | Die Mühle gehört Bodo. | Bodo will die Mühle verkaufen.
beside | Die Mühle gehört Bodo. | Bodo hat die Mühle nicht verkauft.
beside | Die Mühle gehört Bodo. | Bodo verkauft in der Mühle Brot.
beside | Anke arbeitet bei der Post. | Anke hat ihre Wohnung gekündigt.
beside | Anke arbeitet bei der Post. | Anke denkt daran, bei der Post zu kündigen.
beside | Anke ist Mitglied im Chor. | Anke ist aus der Kirche ausgetreten.
beside | Anke ist mit Udo verheiratet. | Udos Bruder ist geschieden.
beside | Anke ist mit Udo verheiratet. | Anke hat Udo auf dem Markt getroffen.
beside | Die Nebelklinge ist heil. | Der Griff der Nebelklinge ist zerbrochen.
beside | Anke ist kerngesund. | Ankes Mutter ist krank.
beside | Anke ist krank. | Anke ist krank vor Sorge.
beside | Anke ist gesund. | Gemüse ist gesund.
beside | Das Café Linde ist montags geschlossen. | Das Café Linde ist dienstags geöffnet.
beside | Das Café Linde hat im Winter geschlossen. | Das Café Linde ist im Juli geöffnet.
beside | Das Café Linde öffnet um acht Uhr. | Das Café Linde öffnet sonntags um zehn Uhr.
beside | Der Bürgermeister von Velm ist Bodo. | Mira war früher Bürgermeisterin von Velm.
beside | Ankes Hund heißt Rex. | Ankes Katze heißt Mimi.
beside | Anke ist vierunddreißig Jahre alt. | Ankes Tochter ist zwölf Jahre alt.
beside | Anke ist vierunddreißig. | Anke war vor zwei Jahren zweiunddreißig.
beside | Anke ist Vegetarierin. | Anke isst gern Käse.
beside | Anke ist Veganerin. | Anke hat als Kind Fleisch gegessen.
beside | Anke trinkt keinen Alkohol. | Anke trinkt Apfelsaft.
beside | Anke hat zwei Söhne. | Anke hat eine Tochter.
beside | Der Eintritt kostet acht Euro. | Für Kinder ist der Eintritt frei.
beside | Der Eintritt kostet acht Euro. | Der Parkplatz ist kostenlos.
beside | Ankes Blutgruppe ist A. | Bodos Blutgruppe ist B.
beside | Die Kerze brennt. | Udo will die Kerze ausblasen.
beside | Der Aufzug ist kaputt. | Der Aufzug soll morgen repariert werden.
beside | Der Aufzug ist kaputt. | Udo hat das Auto repariert.
beside | Anke raucht. | Anke möchte mit dem Rauchen aufhören.
beside | Bodo ist König von Velm. | Bodo war früher Prinz von Velm.
beside | Bodo ist Bürgermeister von Velm. | Bodo will als Bürgermeister zurücktreten.
beside | Das Konzert ist am Freitag. | Die Probe wurde auf Samstag verschoben.
beside | Die Truhe ist verschlossen. | Tilda hat das Siegel aufgebrochen.
beside | Die Truhe ist verschlossen. | Tilda ist nach Velm aufgebrochen.
beside | Die Teilnahme ist freiwillig. | Die Anmeldung ist Pflicht.
beside | Ragnar ist schuldig. | Ragnar hält Bodo für unschuldig.
beside | Anke schläft. | Anke ist früh aufgestanden.
contradicts | Ankes Katze ist schwarz. | Ankes Katze ist ganz weiß.
contradicts | Der Zug fährt um 8:15 Uhr ab. | Der Zug fährt um neun Uhr ab.
contradicts | Bodo ist älter als Udo. | Udo ist älter als Bodo.
contradicts | Anke mag keinen Käse. | Anke mag Käse.
contradicts | Bodo kann nicht lesen. | Bodo liest jeden Morgen die Zeitung.
contradicts | Anke ist am 3. Mai 1990 geboren. | Anke wurde am 12. Juni 1990 geboren.
contradicts | Anke hat drei Kinder. | Anke hat nur ein Kind.
contradicts | Mira ist Ankes Tante. | Mira ist Ankes Mutter.
contradicts | Anke hat die Prüfung bestanden. | Anke ist durch die Prüfung gefallen.
contradicts | Im Café Linde sind Hunde erlaubt. | Im Café Linde sind Hunde verboten.
contradicts | Anke hat keinen Hund. | Ankes Hund ist krank.
contradicts | Ragnar hat den König nicht getötet. | Ragnar hat den König getötet.
contradicts | Keine Brücke führt nach Velm. | Eine Brücke führt nach Velm.
contradicts | Der König heißt Ragnar. | Der König heißt Bodo.
contradicts | Anke ist Einzelkind. | Ankes Bruder heißt Udo.
contradicts | Das Paket wiegt zwölf Kilo. | Das Paket wiegt siebzehn Kilo.
contradicts | Mira ist die einzige Heilerin in Velm. | Anke ist Heilerin in Velm.
contradicts | Das Konzert von Anke ist am 12. Mai. | Das Konzert von Anke findet am 19. Mai statt.
contradicts | Ragnars Pferd ist weiß. | Ragnars Pferd ist schwarz.
contradicts | Das Essen ist um zwölf Uhr. | Das Essen ist um 13 Uhr.
contradicts | Mira wohnt allein. | Mira wohnt mit ihrer Schwester zusammen.
contradicts | Anke spielt Klavier. | Anke spielt kein Klavier.
contradicts | Die Höhle wird von einem Troll bewacht. | Die Höhle wird nicht bewacht.
contradicts | Bodo hat keine Haustiere. | Bodo hat eine Katze.
contradicts | Die Stadt Velm liegt am Meer. | Die Stadt Velm liegt nicht am Meer.
contradicts | Tilda ist Ragnars Stiefmutter. | Tilda ist Ragnars leibliche Mutter.
beside | Ragnar ist frei. | Ragnar ist in Gedanken gefangen.
beside | Ragnar ist frei. | Ragnar ist in seiner Vergangenheit gefangen.
beside | Ragnar ist frei. | Ragnar arbeitet im Gefängnis.
beside | Bodo lebt. | Bodo ist im Kampf hingefallen.
beside | Bodo lebt. | Bodo ist im Schach gefallen.
beside | Bodo lebt. | Bodo hat das Licht getötet.
beside | Anke ist mit Udo verheiratet. | Anke hat sich von Udos Plan scheiden lassen.
beside | Anke hat zwei Söhne. | Anke hat zwei Söhne und eine Tochter.
beside | Die Nebelklinge ist heil. | Die Nebelklinge ist fast zerbrochen.
beside | Der Bürgermeister von Velm ist Bodo. | Mira kandidiert als Bürgermeisterin von Velm.
beside | Ragnar ist ein Krieger. | Der Krieger Bodo ist kein Freund von Ragnar.
beside | Anke wohnt in Kassel. | Anke hat in Emden gewohnt.
beside | Das Wasser ist trocken. | Anke ist in Emden.
beside | Anke raucht nicht. | Anke hat früher geraucht.
beside | Udo hat eine Katze. | Udo hat einen Hund.
"""

FRENCH: Final = """
contradicts | Thibault est mort. | Thibault est toujours en vie.
contradicts | Thibault est mort. | Thibault est bel et bien vivant.
contradicts | Le chevalier Thibault est mort. | Thibault est vivant.
contradicts | Thibault n'est plus de ce monde. | Thibault est bien vivant.
contradicts | Benoît est enfermé dans un cachot. | Benoît est libre.
contradicts | Benoît est retenu prisonnier à Valmont. | Benoît est un homme libre.
contradicts | Le voleur Benoît croupit dans les geôles de Valmont. | Benoît est libre.
contradicts | Benoît est enchaîné. | Benoît est libre de ses mouvements.
contradicts | Margot est la présidente du club. | Benoît est le président du club.
contradicts | L'abbesse de Valmont est Lucie. | L'abbesse de Valmont est Margot.
contradicts | Le sénéchal de Valmont s'appelle Thibault. | Le sénéchal de Valmont s'appelle Benoît.
contradicts | Le moulin appartient à Benoît. | Le moulin appartient à Margot.
contradicts | Le moulin est à Benoît. | Le propriétaire du moulin est Thibault.
contradicts | L'auberge appartient à Benoît. | L'auberge n'appartient pas à Benoît.
contradicts | Le patron du Café Bleu est Benoît. | La patronne du Café Bleu est Margot.
contradicts | Le chat de Lucie se nomme Félix. | Le chat de Lucie s'appelle Minou.
contradicts | La mère de Lucie s'appelle Margot. | La mère de Lucie s'appelle Odile.
contradicts | Lucie a trente-quatre ans. | Lucie a quarante et un ans.
contradicts | Lucie a soixante-dix-huit ans. | Lucie a quatre-vingt-deux ans.
contradicts | Lucie a 34 ans. | Lucie a dix-neuf ans.
contradicts | Lucie est mineure. | Lucie a 34 ans.
contradicts | Valmont compte trois mille habitants. | Valmont a douze mille habitants.
contradicts | Le livre compte quatre cent douze pages. | Le livre a 380 pages.
contradicts | Lucie a deux fils. | Lucie a trois fils.
contradicts | Valmont compte 1 200 habitants. | Valmont compte 800 habitants.
contradicts | L'entrée du musée coûte huit euros. | L'entrée du musée est gratuite.
contradicts | La cotisation est de soixante euros. | La cotisation s'élève à quatre-vingts euros.
contradicts | Le loyer de Lucie est de 700 euros. | Lucie paie 850 euros de loyer.
contradicts | Le Café Bleu est fermé le lundi. | Le Café Bleu est ouvert le lundi.
contradicts | Le Café Bleu ouvre à huit heures. | Le Café Bleu ouvre à dix heures.
contradicts | Le Café Bleu ouvre à 8h30. | Le Café Bleu ouvre à neuf heures.
contradicts | Le Café Bleu est ouvert tous les jours. | Le Café Bleu est fermé le mardi.
contradicts | La bibliothèque ferme le samedi. | La bibliothèque est ouverte le samedi.
contradicts | Le groupe sanguin de Lucie est A. | Le groupe sanguin de Lucie est B.
contradicts | Le groupe sanguin de Lucie est O négatif. | Lucie est de groupe A.
contradicts | Lucie est en pleine forme. | Lucie est gravement malade.
contradicts | Lucie est diabétique. | Lucie n'a pas de diabète.
contradicts | Benoît est aveugle. | Benoît voit très bien.
contradicts | Margot est enceinte. | Margot n'est pas enceinte.
contradicts | Margot est vaccinée. | Margot n'est pas vaccinée.
contradicts | Le pont de Valmont est détruit. | Le pont de Valmont est intact.
contradicts | Le pont de Valmont s'est effondré. | Le pont de Valmont est intact.
contradicts | La fenêtre est cassée. | La fenêtre est en parfait état.
contradicts | L'ascenseur est en panne. | L'ascenseur fonctionne.
contradicts | La porte est fermée à clé. | La porte est grande ouverte.
contradicts | La porte de Valmont est verrouillée. | La porte de Valmont n'est pas verrouillée.
contradicts | La lampe est allumée. | La lampe est éteinte.
contradicts | Le coffre est vide. | Le coffre est plein.
contradicts | Le château de Valmont est en ruine. | Le château de Valmont est intact.
contradicts | La facture est payée. | La facture est impayée.
contradicts | Lucie est née à Dijon. | Lucie a vu le jour à Lorient.
contradicts | Lucie est native de Dijon. | Lucie est née à Lorient.
contradicts | Lucie est née en 1980. | Lucie est née en 1984.
contradicts | Le concert est vendredi. | Le concert est samedi.
contradicts | Le concert a lieu le vendredi 3 mai. | Le concert a lieu le samedi 4 mai.
contradicts | La date limite est le 1er mars. | La date limite est le 15 mars.
contradicts | Lucie est fille unique. | Lucie a un frère.
contradicts | Margot est la mère de Lucie. | Odile est la mère de Lucie.
contradicts | Le père de Lucie est Benoît. | Thibault est le père de Lucie.
contradicts | Lucie est sans enfant. | Lucie a un fils.
contradicts | Lucie est mariée à Benoît. | Lucie est mariée à Thibault.
contradicts | Lucie est veuve. | Lucie est divorcée.
contradicts | Le mari de Lucie s'appelle Benoît. | Le mari de Lucie s'appelle Thibault.
contradicts | Lucie est végane. | Lucie mange du poisson.
contradicts | Lucie ne mange pas de viande. | Lucie mange du jambon.
contradicts | Lucie ne boit jamais d'alcool. | Lucie boit de la bière tous les soirs.
contradicts | Lucie ne fume pas. | Lucie fume.
contradicts | Les yeux de Lucie sont bleus. | Lucie a les yeux verts.
contradicts | La voiture de Lucie est rouge. | La voiture de Lucie est bleue.
contradicts | La tortue de Lucie est un mâle. | La tortue de Lucie est une femelle.
contradicts | Lucie est gauchère. | Lucie est droitière.
contradicts | Lucie est au chômage. | Lucie travaille à la poste.
contradicts | Lucie travaille à temps plein. | Lucie travaille à temps partiel.
contradicts | Lucie sait nager. | Lucie ne sait pas nager.
contradicts | Lucie ne parle pas anglais. | Lucie parle couramment anglais.
contradicts | Benoît n'a jamais tué personne. | Benoît a tué Thibault.
contradicts | Seule Lucie connaît le code. | Benoît connaît le code.
contradicts | Benoît est arrivé à Valmont. | Benoît n'est pas encore arrivé à Valmont.
contradicts | Benoît est coupable. | Benoît est innocent.
contradicts | La réunion est annulée. | La réunion est maintenue.
contradicts | La présence est obligatoire. | La présence est facultative.
ends | Thibault est vivant. | Thibault est mort hier.
ends | Thibault est vivant. | Thibault a été tué par Benoît.
ends | Thibault est vivant. | Thibault a succombé à ses blessures.
ends | Thibault est vivant. | Thibault a perdu la vie à Valmont.
ends | Thibault est vivant. | Thibault est tombé au combat.
ends | Thibault est vivant. | Thibault a été retrouvé mort.
ends | Thibault est vivant. | Thibault s'est éteint dans la nuit.
ends | Thibault est vivant. | On a enterré Thibault à Valmont.
ends | Thibault est vivant. | Thibault a été exécuté.
ends | Le moulin appartient à Benoît. | Benoît a vendu le moulin à Margot.
ends | Le moulin appartient à Benoît. | Margot a acheté le moulin.
ends | L'épée Brise-Nuit appartient à Thibault. | Thibault a offert l'épée Brise-Nuit à Lucie.
ends | L'épée Brise-Nuit appartient à Thibault. | Thibault a légué l'épée Brise-Nuit à Lucie.
ends | Lucie habite à Dijon. | Lucie a déménagé à Lorient.
ends | Lucie habite à Dijon. | Lucie s'est installée à Lorient.
ends | Lucie habite à Dijon. | Lucie n'habite plus à Dijon.
ends | Lucie habite à Dijon. | Lucie vit désormais à Lorient.
ends | Lucie travaille à la poste. | Lucie a démissionné de la poste.
ends | Lucie travaille à la poste. | Lucie a quitté la poste.
ends | Lucie travaille à la poste. | Lucie a été licenciée de la poste.
ends | Lucie est membre de la chorale. | Lucie a quitté la chorale.
ends | Benoît est en prison. | Benoît a été libéré.
ends | Benoît est en prison. | Benoît s'est évadé.
ends | Benoît est prisonnier. | Benoît s'est échappé de la tour.
ends | Benoît est en prison. | Benoît est sorti de prison.
ends | Benoît est libre. | Benoît a été arrêté.
ends | Benoît est libre. | Les gardes ont capturé Benoît.
ends | L'épée Brise-Nuit est intacte. | Thibault a brisé l'épée Brise-Nuit.
ends | L'épée Brise-Nuit est intacte. | L'épée Brise-Nuit s'est brisée.
ends | L'ascenseur est en panne. | L'ascenseur a été réparé.
ends | Le toit est cassé. | Benoît a réparé le toit.
ends | Lucie est mariée à Benoît. | Lucie et Benoît ont divorcé.
ends | Lucie est mariée à Benoît. | Lucie a divorcé de Benoît.
ends | Lucie est célibataire. | Lucie a épousé Benoît.
ends | Lucie est célibataire. | Lucie s'est mariée avec Benoît.
ends | Lucie est fiancée à Benoît. | Lucie a rompu ses fiançailles avec Benoît.
ends | La porte est ouverte. | Benoît a fermé la porte.
ends | La porte est verrouillée. | Margot a déverrouillé la porte.
ends | La porte est verrouillée. | Margot a forcé la porte.
ends | La bougie est allumée. | Le vent a éteint la bougie.
ends | La bougie est allumée. | Benoît vient de souffler la bougie.
ends | La bougie est allumée. | La bougie s'est éteinte.
ends | Lucie est malade. | Lucie est guérie.
ends | Lucie est malade. | Lucie s'est rétablie.
ends | Lucie est malade. | Lucie n'est plus malade.
ends | Lucie est en bonne santé. | Lucie est tombée malade.
ends | Lucie fume. | Lucie a arrêté de fumer.
ends | Lucie fume. | Lucie a cessé de fumer.
ends | Lucie fume. | Lucie ne fume plus.
ends | Benoît est le maire de Dijon. | Benoît n'est plus maire de Dijon.
ends | Benoît est le maire de Dijon. | Benoît a démissionné de son poste de maire de Dijon.
ends | Benoît est le maire de Dijon. | Margot est devenue maire de Dijon.
ends | Benoît est le maire de Dijon. | Margot a été élue maire de Dijon.
ends | Le Café Bleu est fermé. | Le Café Bleu a rouvert.
ends | Le château de Valmont est intact. | Le château de Valmont a brûlé.
ends | Le loyer de Lucie est de 640 euros. | Le loyer de Lucie est passé à 690 euros.
ends | Le loyer de Lucie est de 640 euros. | Le loyer de Lucie a été augmenté à 690 euros.
ends | Le concert est vendredi. | Le concert a été reporté à samedi.
ends | Le coffre est vide. | Benoît a rempli le coffre.
ends | La facture est impayée. | Lucie a payé la facture.
ends | Lucie est ivre. | Lucie a dessoûlé.
beside | Thibault est vivant. | Thibault est mort de fatigue.
beside | Thibault est vivant. | Thibault était mort de rire.
beside | Thibault est vivant. | Thibault a failli mourir.
beside | Thibault est vivant. | Selon la rumeur, Thibault serait mort.
beside | Thibault est vivant. | Thibault a rêvé qu'il était mort.
beside | Thibault est vivant. | Thibault est tombé dans l'escalier.
beside | Thibault est vivant. | Thibault joue un mort sur scène.
beside | Thibault est vivant. | Thibault s'est éteint les lumières.
beside | Benoît est en prison. | Le frère de Benoît est libre.
beside | Benoît est en prison. | Benoît rêve d'être libre.
beside | Benoît est libre. | Benoît est prisonnier de ses habitudes.
beside | Benoît est libre. | Benoît est enfermé dans ses pensées.
beside | Lucie habite à Dijon. | Lucie veut déménager à Lorient.
beside | Lucie habite à Dijon. | Lucie habitait autrefois à Lorient.
beside | Lucie habite à Dijon. | Lucie travaille à Lorient.
beside | Le moulin appartient à Benoît. | Benoît veut vendre le moulin.
beside | Le moulin appartient à Benoît. | Benoît n'a pas vendu le moulin.
beside | Le moulin appartient à Benoît. | Benoît vend du pain au moulin.
beside | Lucie travaille à la poste. | Lucie a quitté la salle.
beside | Lucie travaille à la poste. | Lucie songe à démissionner.
beside | Lucie est membre de la chorale. | Lucie a quitté l'église.
beside | Lucie est mariée à Benoît. | Lucie et Thibault ont divorcé.
beside | L'épée Brise-Nuit est intacte. | La poignée de l'épée Brise-Nuit est brisée.
beside | L'épée Brise-Nuit est intacte. | Thibault a brisé le silence.
beside | Lucie est en bonne santé. | Lucie est malade d'inquiétude.
beside | La porte de Valmont est fermée. | La fenêtre de Valmont est ouverte.
beside | Le Café Bleu est fermé le lundi. | Le Café Bleu est ouvert le mardi.
beside | Le Café Bleu ouvre à huit heures. | Le Café Bleu ouvre à dix heures le dimanche.
beside | Le maire de Dijon est Benoît. | La maire de Lorient est Margot.
beside | Le maire de Dijon est Benoît. | Margot a été maire de Dijon autrefois.
beside | Le chien de Lucie s'appelle Rex. | Le chat de Lucie s'appelle Minou.
beside | Le chien de Lucie s'appelle Rex. | Le chien de Benoît s'appelle Milou.
beside | Lucie a trente-quatre ans. | La fille de Lucie a douze ans.
beside | Lucie est végétarienne. | Le frère de Lucie mange de la viande.
beside | Lucie ne boit pas d'alcool. | Lucie boit du jus de pomme.
beside | Lucie a deux fils. | Lucie a une fille.
beside | L'entrée coûte huit euros. | Le parking est gratuit.
beside | Le groupe sanguin de Lucie est A. | Le groupe sanguin de Benoît est B.
beside | La bougie est allumée. | Benoît veut éteindre la bougie.
beside | L'ascenseur est en panne. | L'ascenseur sera réparé demain.
beside | Lucie fume. | Lucie a arrêté de courir.
beside | Lucie fume. | Lucie voudrait arrêter de fumer.
beside | Le loyer de Lucie est de 640 euros. | Le salaire de Lucie est passé à 3000 euros.
beside | Le concert est vendredi. | La répétition a été reportée à samedi.
beside | La porte est verrouillée. | Margot a forcé le coffre.
beside | Benoît est coupable. | Benoît croit Thibault innocent.
beside | Lucie dort. | Lucie se lève tôt.
beside | La réunion est annulée. | Le concert est maintenu.
contradicts | Le marché de Valmont a lieu le jeudi. | Le marché de Valmont a lieu le samedi.
contradicts | Lucie est plus grande que Margot. | Margot est plus grande que Lucie.
contradicts | Lucie est née le 3 mai 1990. | Lucie est née le 12 juin 1990.
contradicts | Lucie a trois enfants. | Lucie n'a qu'un enfant.
contradicts | Margot est la tante de Lucie. | Margot est la mère de Lucie.
contradicts | Lucie travaille à la banque. | Lucie ne travaille pas à la banque.
contradicts | La potion rend invisible. | La potion ne rend pas invisible.
contradicts | Le puits est à sec. | Le puits est plein.
contradicts | Le Café Bleu accepte les chiens. | Le Café Bleu n'accepte pas les chiens.
contradicts | L'épée Brise-Nuit est dans le coffre. | L'épée Brise-Nuit n'est pas dans le coffre.
contradicts | La réunion aura lieu mardi. | La réunion aura lieu jeudi.
contradicts | Aucun pont ne mène à Valmont. | Un pont de pierre mène à Valmont.
contradicts | Lucie est allergique aux chats. | Lucie n'est allergique à rien.
contradicts | Lucie ne porte jamais de robe. | Lucie porte une robe tous les jours.
contradicts | Le cheval de Thibault est blanc. | Le cheval de Thibault est noir.
contradicts | La tour de Valmont compte trois étages. | La tour de Valmont n'a que deux étages.
contradicts | Le train de Lorient arrive à 14 h 20. | Le train de Lorient arrive à 15 h.
contradicts | Le chat de Lucie a les yeux verts. | Le chat de Lucie a les yeux jaunes.
contradicts | Margot habite seule. | Margot habite avec sa sœur.
contradicts | Lucie ne joue d'aucun instrument. | Lucie joue du violon.
contradicts | Le sortilège est levé. | Le sortilège n'est pas levé.
contradicts | Benoît n'a pas d'animaux. | Benoît a un chat.
beside | Benoît est libre. | Benoît travaille à la prison de Dijon.
beside | Benoît est libre. | Benoît est prisonnier de son passé.
beside | Thibault est vivant. | Thibault est mort de peur.
beside | Thibault est vivant. | Thibault est tombé malade.
beside | Le Café Bleu est fermé le lundi. | Le Café Bleu ouvre le mardi.
beside | Lucie a deux fils. | Lucie a deux fils et une fille.
beside | Le maire de Dijon est Benoît. | Margot est candidate à la mairie de Dijon.
beside | Lucie habite à Dijon. | Lucie a habité à Lorient.
beside | Lucie habite à Dijon. | Lucie part en vacances à Lorient.
beside | Lucie ne fume pas. | Lucie a fumé autrefois.
beside | Le moulin appartient à Benoît. | Lucie a loué le moulin.
beside | Lucie est mariée à Benoît. | Lucie a rompu avec la tradition.
beside | Lucie travaille à la poste. | Benoît a démissionné de la poste.
beside | Lucie est en bonne santé. | Lucie était malade en mars.
"""

SPANISH: Final = """
contradicts | Ramón está muerto. | Ramón sigue vivo.
contradicts | Ramón está muerto. | Ramón todavía vive.
contradicts | Ramón murió en 1402. | Ramón está vivo y coleando.
contradicts | Baltasar está en la cárcel. | Baltasar está libre.
contradicts | Baltasar está encadenado en la torre. | Baltasar es un hombre libre.
contradicts | Baltasar está prisionero en Montalbán. | Baltasar está en libertad.
contradicts | Tienen preso a Baltasar. | Baltasar está libre.
contradicts | El alcalde de Toledo es Ramón. | La alcaldesa de Toledo es Lucía.
contradicts | La presidenta del club es Elvira. | El presidente del club es Ramón.
contradicts | La gobernadora de Cádiz es Elvira. | El gobernador de Cádiz es don Ramón.
contradicts | El dueño del molino es Ramón. | La dueña del molino es Elvira.
contradicts | La posada pertenece a Ramón. | La posada no pertenece a Ramón.
contradicts | La gata de Lucía se llama Misi. | La gata de Lucía se llama Luna.
contradicts | La madre de Lucía se llama Elvira. | La madre de Lucía se llama Rosa.
contradicts | Lucía tiene treinta y cuatro años. | Lucía tiene cuarenta y un años.
contradicts | Lucía tiene veintiún años. | Lucía tiene veintiséis años.
contradicts | Lucía es menor de edad. | Lucía tiene 34 años.
contradicts | Lucía cumplió treinta años ayer. | Lucía tiene veinticinco años.
contradicts | Toledo tiene tres mil habitantes. | Toledo tiene doce mil habitantes.
contradicts | El libro tiene cuatrocientas doce páginas. | El libro tiene 380 páginas.
contradicts | Lucía tiene dos hijos. | Lucía tiene tres hijos.
contradicts | Montalbán cuenta con 800 habitantes. | Montalbán tiene 1.200 habitantes.
contradicts | La entrada del museo cuesta ocho euros. | La entrada del museo es gratis.
contradicts | La cuota es de sesenta euros. | La cuota asciende a ochenta euros.
contradicts | La espada cuesta cuarenta monedas de oro. | La espada cuesta sesenta monedas de oro.
contradicts | El alquiler de Lucía es de 700 euros. | Lucía paga 850 euros de alquiler.
contradicts | El Bar Luna está cerrado los lunes. | El Bar Luna está abierto los lunes.
contradicts | El Bar Luna cierra los lunes. | El Bar Luna abre los lunes.
contradicts | El Bar Luna cierra a las 18:00. | El Bar Luna cierra a las 20:00.
contradicts | El Bar Luna abre a las ocho y media. | El Bar Luna abre a las nueve.
contradicts | La biblioteca cierra los domingos. | La biblioteca está abierta los domingos.
contradicts | El grupo sanguíneo de Lucía es A. | El grupo sanguíneo de Lucía es B.
contradicts | Lucía tiene sangre del tipo A. | Lucía tiene sangre del tipo B.
contradicts | Lucía está completamente sana. | Lucía está gravemente enferma.
contradicts | Lucía es diabética. | Lucía no tiene diabetes.
contradicts | Ramón es ciego. | Ramón ve perfectamente.
contradicts | Elvira está embarazada. | Elvira no está embarazada.
contradicts | Elvira está vacunada. | Elvira no está vacunada.
contradicts | El puente de Toledo está destruido. | El puente de Toledo está intacto.
contradicts | El puente de Toledo está en ruinas. | El puente de Toledo está en perfecto estado.
contradicts | La espada Filo Negro está partida en dos. | La espada Filo Negro está entera.
contradicts | El ascensor está averiado. | El ascensor funciona.
contradicts | La puerta está cerrada con llave. | La puerta está abierta de par en par.
contradicts | La puerta de Toledo está cerrada. | La puerta de Toledo está abierta.
contradicts | La hoguera arde. | La hoguera está apagada.
contradicts | El cofre está vacío. | El cofre está lleno.
contradicts | La factura está pagada. | La factura está pendiente.
contradicts | La factura está pagada. | La factura sigue sin pagar.
contradicts | Lucía es natural de Toledo. | Lucía nació en Cádiz.
contradicts | El lugar de nacimiento de Lucía es Toledo. | Lucía nació en Cádiz.
contradicts | El cumpleaños de Lucía es el 3 de mayo. | Lucía cumple años el 5 de junio.
contradicts | El concierto se celebra el viernes. | El concierto se celebra el sábado.
contradicts | La reunión empieza a las nueve. | La reunión empieza a las once.
contradicts | Lucía es hija única. | Lucía tiene un hermano.
contradicts | Lucía no tiene hermanos. | Lucía tiene una hermana mayor.
contradicts | El padre de Lucía es Ramón. | Baltasar es el padre de Lucía.
contradicts | Lucía no tiene hijos. | Lucía tiene dos hijas.
contradicts | Lucía está casada con Ramón. | Lucía está casada con Baltasar.
contradicts | Lucía está soltera. | Lucía está casada.
contradicts | El marido de Lucía se llama Ramón. | El marido de Lucía se llama Baltasar.
contradicts | Lucía es vegetariana. | Lucía come carne.
contradicts | Lucía no come carne. | Lucía come jamón.
contradicts | Lucía no bebe alcohol. | Lucía bebe vino.
contradicts | Lucía no fuma. | Lucía fuma.
contradicts | Lucía es abstemia. | Lucía bebe vino.
contradicts | El coche de Lucía es rojo. | El coche de Lucía es azul.
contradicts | La tortuga de Lucía es macho. | La tortuga de Lucía es hembra.
contradicts | Lucía es zurda. | Lucía es diestra.
contradicts | Lucía trabaja los sábados. | Lucía no trabaja los sábados.
contradicts | Lucía trabaja a tiempo completo. | Lucía trabaja a tiempo parcial.
contradicts | Lucía tiene carné de conducir. | Lucía no tiene carné de conducir.
contradicts | Lucía no habla inglés. | Lucía habla inglés.
contradicts | Ramón robó el cofre. | Ramón no robó el cofre.
contradicts | Solo Lucía conoce el código. | Ramón conoce el código.
contradicts | Nadie ha entrado en la cripta. | Ramón entró en la cripta.
contradicts | Ramón es culpable. | Ramón es inocente.
contradicts | El anillo es auténtico. | El anillo es falso.
ends | Ramón está vivo. | Ramón murió ayer.
ends | Ramón está vivo. | Baltasar mató a Ramón.
ends | Ramón está vivo. | Ramón perdió la vida en Toledo.
ends | Ramón está vivo. | Ramón sucumbió a sus heridas.
ends | Ramón está vivo. | Ramón cayó en combate.
ends | Ramón está vivo. | Ramón fue hallado muerto.
ends | Ramón está vivo. | Ramón ha sido ejecutado.
ends | Ramón está vivo. | Enterraron a Ramón en Toledo.
ends | El molino pertenece a Ramón. | Ramón vendió el molino a Elvira.
ends | El molino pertenece a Ramón. | Ramón ha vendido el molino.
ends | El molino pertenece a Ramón. | Elvira ha comprado el molino.
ends | La espada Filo Negro pertenece a Ramón. | Ramón regaló la espada Filo Negro a Elvira.
ends | La espada Filo Negro pertenece a Ramón. | Ramón le regaló la espada Filo Negro a Elvira.
ends | Lucía vive en Toledo. | Lucía se ha mudado a Cádiz.
ends | Lucía vive en Toledo. | Lucía se mudó de Toledo a Cádiz.
ends | Lucía vive en Toledo. | Lucía ya no vive en Toledo.
ends | Lucía vive en Toledo. | Lucía vive ahora en Cádiz.
ends | Lucía trabaja para el banco. | Lucía ha dejado el banco.
ends | Lucía trabaja para el banco. | Lucía dimitió del banco.
ends | Lucía trabaja para el banco. | El banco despidió a Lucía.
ends | Lucía es miembro del coro. | Lucía ha dejado el coro.
ends | Lucía es socia del club. | Lucía se dio de baja del club.
ends | Baltasar está preso. | Baltasar fue liberado.
ends | Baltasar está preso. | Baltasar se ha fugado.
ends | Baltasar está prisionero en Montalbán. | Baltasar ha escapado de Montalbán.
ends | Baltasar está en la cárcel. | Baltasar ha salido de la cárcel.
ends | Baltasar está libre. | Baltasar ha sido detenido.
ends | Baltasar está libre. | Los guardias capturaron a Baltasar.
ends | La espada Filo Negro está intacta. | Ramón rompió la espada Filo Negro.
ends | La espada Filo Negro está intacta. | La espada Filo Negro se ha roto.
ends | El ascensor está averiado. | El ascensor ha sido reparado.
ends | El tejado está roto. | Ramón arregló el tejado.
ends | Lucía está casada con Ramón. | Lucía y Ramón se han divorciado.
ends | Lucía está casada con Ramón. | Lucía se divorció de Ramón.
ends | Lucía está soltera. | Lucía se casó con Ramón.
ends | Lucía está prometida con Ramón. | Lucía rompió su compromiso con Ramón.
ends | La puerta está abierta. | Ramón cerró la puerta.
ends | El cofre está cerrado. | Elvira forzó el cofre.
ends | El taller está cerrado. | El taller ha vuelto a abrir.
ends | La vela está encendida. | El viento apagó la vela.
ends | La vela está encendida. | Ramón acaba de apagar la vela.
ends | La vela está encendida. | La vela se ha apagado.
ends | Lucía está enferma. | Lucía se ha recuperado.
ends | Lucía está enferma. | Lucía ya está sana.
ends | Lucía está enferma. | Lucía se curó.
ends | Lucía está sana. | Lucía cayó enferma.
ends | Lucía está sana. | Lucía se ha puesto enferma.
ends | Lucía fuma. | Lucía ha dejado de fumar.
ends | Lucía fuma. | Lucía ya no fuma.
ends | Ramón es el alcalde de Toledo. | Ramón ya no es alcalde de Toledo.
ends | Ramón es el alcalde de Toledo. | Ramón dimitió como alcalde de Toledo.
ends | Ramón es el alcalde de Toledo. | Elvira es ahora la alcaldesa de Toledo.
ends | Ramón es el alcalde de Toledo. | Elvira ha sido elegida alcaldesa de Toledo.
ends | El castillo de Toledo está intacto. | El castillo de Toledo se ha quemado.
ends | El alquiler de Lucía es de 640 euros. | El alquiler de Lucía ha subido a 690 euros.
ends | El alquiler de Lucía es de 640 euros. | A Lucía le han subido el alquiler a 690 euros.
ends | El concierto es el viernes. | El concierto se ha aplazado al sábado.
ends | El cofre está vacío. | Ramón llenó el cofre.
ends | La factura está pendiente. | Lucía pagó la factura.
ends | Lucía duerme. | Lucía se ha despertado.
beside | Ramón está vivo. | Ramón está muerto de cansancio.
beside | Ramón está vivo. | Ramón casi se muere.
beside | Ramón está vivo. | Ramón se muere de risa.
beside | Ramón está vivo. | Dicen que Ramón ha muerto.
beside | Ramón está vivo. | Ramón soñó que estaba muerto.
beside | Ramón está vivo. | Ramón cayó por la escalera.
beside | Ramón está vivo. | Los aldeanos creen que Ramón está muerto.
beside | Ramón está vivo. | Ramón estuvo a punto de morir.
beside | Baltasar está preso. | El hermano de Baltasar está libre.
beside | Baltasar está preso. | Baltasar sueña con ser libre.
beside | Baltasar está libre. | Baltasar es prisionero de sus costumbres.
beside | Baltasar está libre. | Baltasar está encerrado en sus pensamientos.
beside | Lucía vive en Toledo. | Lucía vivía antes en Cádiz.
beside | Lucía vive en Toledo. | Lucía trabaja en Cádiz.
beside | Lucía vive en Toledo. | El hermano de Lucía vive en Cádiz.
beside | El molino pertenece a Ramón. | Ramón no ha vendido el molino.
beside | El molino pertenece a Ramón. | Ramón vende pan en el molino.
beside | La espada Filo Negro pertenece a Ramón. | Ramón enseñó la espada Filo Negro a Elvira.
beside | Lucía trabaja para el banco. | Lucía piensa dimitir.
beside | Lucía es miembro del coro. | Lucía ha dejado la iglesia.
beside | Lucía está casada con Ramón. | El hermano de Ramón se divorció.
beside | La espada Filo Negro está intacta. | La empuñadura de la espada Filo Negro está rota.
beside | La espada Filo Negro está intacta. | Ramón rompió el silencio.
beside | Lucía está sana. | La madre de Lucía está enferma.
beside | La puerta de Toledo está cerrada. | La ventana de Toledo está abierta.
beside | El Bar Luna está cerrado los lunes. | El Bar Luna está abierto los martes.
beside | El Bar Luna cierra en invierno. | El Bar Luna está abierto en julio.
beside | El alcalde de Toledo es Ramón. | La alcaldesa de Cádiz es Elvira.
beside | El alcalde de Toledo es Ramón. | Elvira fue alcaldesa de Toledo hace años.
beside | El alcalde de Toledo es Ramón. | La teniente de alcalde de Toledo es Elvira.
beside | El perro de Lucía se llama Toby. | El perro de Ramón se llama Rufo.
beside | Lucía tiene treinta y cuatro años. | La hija de Lucía tiene doce años.
beside | Lucía es vegetariana. | Lucía come queso.
beside | Lucía no bebe alcohol. | Lucía bebe zumo.
beside | Lucía tiene dos hijos. | Lucía tiene un perro.
beside | La entrada cuesta ocho euros. | La entrada es gratuita para los niños.
beside | El grupo sanguíneo de Lucía es A. | El grupo sanguíneo de Ramón es B.
beside | La vela está encendida. | Ramón quiere apagar la vela.
beside | La vela está encendida. | Ramón apagó la lámpara.
beside | Lucía fuma. | Lucía ha dejado de correr.
beside | Lucía fuma. | Lucía quiere dejar de fumar.
beside | Ramón es el alcalde de Toledo. | Ramón quiere dimitir.
beside | El concierto es el viernes. | El ensayo se ha aplazado al sábado.
beside | El cofre está cerrado. | Elvira forzó la puerta.
beside | La asistencia es obligatoria. | La inscripción es voluntaria.
beside | Lucía duerme. | Lucía se levanta temprano.
beside | El hermano de Ramón está libre. | Ramón está preso.
beside | Ramón está vivo. | Ramón está hecho polvo.
contradicts | El gato de Lucía es negro. | El gato de Lucía es blanco.
contradicts | El mercado de Toledo es los jueves. | El mercado de Toledo es los sábados.
contradicts | Lucía es más alta que Elvira. | Elvira es más alta que Lucía.
contradicts | Lucía lleva gafas. | Lucía no lleva gafas.
contradicts | Lucía nació el 3 de mayo de 1990. | Lucía nació el 12 de junio de 1990.
contradicts | El cofre contiene oro. | El cofre no contiene oro.
contradicts | Ramón es hijo de Baltasar. | Ramón no es hijo de Baltasar.
contradicts | La espada Filo Negro está en el cofre. | La espada Filo Negro no está en el cofre.
contradicts | Lucía no tiene coche. | Lucía conduce su coche todos los días.
contradicts | El jarrón está entero. | El jarrón está hecho añicos.
contradicts | Lucía es alérgica a los gatos. | Lucía no es alérgica a los gatos.
contradicts | Ramón es marido de Elvira. | Elvira no está casada.
contradicts | Ninguno de los hijos de Lucía sabe montar. | Un hijo de Lucía sabe montar.
contradicts | El libro es de Lucía. | El libro es de Ramón.
contradicts | Ramón tiene dos hijos. | Ramón solo tiene un hijo.
contradicts | El tesorero del club de Toledo es Ramón. | La tesorera del club de Toledo es Elvira.
contradicts | La carta fue firmada por Ramón. | Ramón no firmó la carta.
contradicts | El viejo Ramón es ciego. | El viejo Ramón ve bien.
contradicts | La guerra duró siete años. | La guerra duró diez años.
contradicts | Elvira es panadera. | Elvira no es panadera.
contradicts | Lucía no toca ningún instrumento. | Lucía toca el violín.
contradicts | Ramón no tiene mascotas. | Ramón tiene un gato.
contradicts | Lucía se crió en Toledo. | Lucía no se crió en Toledo.
contradicts | Ramón conoce a Elvira. | Ramón no conoce a Elvira.
contradicts | Todos los alumnos de Elvira aprobaron. | Un alumno de Elvira no aprobó.
beside | Baltasar está libre. | Baltasar trabaja en la cárcel de Toledo.
beside | Baltasar está libre. | Baltasar está atado a su escritorio.
beside | Ramón está vivo. | Ramón está muerto de miedo.
beside | Ramón está vivo. | Ramón cayó en la trampa.
beside | El Bar Luna está cerrado los lunes. | El Bar Luna abre los martes.
beside | Lucía tiene dos hijos. | Lucía tiene dos hijos y una sobrina.
beside | El alcalde de Toledo es Ramón. | Elvira quiere ser alcaldesa de Toledo.
beside | Lucía vive en Toledo. | Lucía vivió en Cádiz.
beside | Lucía vive en Toledo. | Lucía se muda en mayo a Cádiz.
beside | Lucía no fuma. | Lucía fumaba antes.
beside | El molino pertenece a Ramón. | Lucía ha alquilado el molino.
beside | Lucía está casada con Ramón. | Lucía rompió con la tradición.
beside | El alquiler de Lucía es de 640 euros. | Lucía pagó 800 euros por el viaje.
beside | Ramón es médico. | Ramón no es el médico de Lucía.
"""

ROWS: Final = [
    tuple(row.split(" | "))
    for text in (GERMAN, FRENCH, SPANISH)
    for row in text.strip().splitlines()
]


def outcome_of(held: str, said: str) -> str:
    """Return what a sentence does to one that stands, if both were told without a time."""
    names = {name: name for name in NAMES if name in f"{held} {said}"}
    pairs = [
        (one, two) for one in read_statements(held, names) for two in read_statements(said, names)
    ]
    clashes = [clash for one, two in pairs if (clash := find_clash(one, two)) is not None]
    if any(not clash.ends_earlier for clash in clashes):
        return "contradicts"
    return "ends" if clashes else "beside"


@pytest.mark.parametrize(("expected", "held", "said"), ROWS)
def test_everyday_sentences_meet_in_each_language(expected: str, held: str, said: str) -> None:
    assert outcome_of(held, said) == expected
