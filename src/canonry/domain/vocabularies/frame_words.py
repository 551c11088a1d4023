"""The words by which statements are taken apart and compared, by what they do; as data.

They are words of the language, not of any world: a name or a noun of a story never stands here.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _list(text: str) -> list[str]:
    return text.split()


BE: Final = _words("am is are was were be been being")
HAVE: Final = _words("have has had having")
DO: Final = _words("do does did")
MODALS: Final = {
    "can": "can", "could": "can", "may": "may", "might": "might", "must": "must", "shall": "will",
    "should": "should", "will": "will", "would": "would", "need": "must", "ought": "should",
}  # fmt: skip
PAST: Final = _words("was were had did could would might")
FUTURE: Final = _words("will would shall")
PRONOUNS: Final = _words("he she it they i we you him them me us himself herself itself themselves")
REFLEXIVES: Final = _words("himself herself itself themselves myself ourselves")
INDEFINITE: Final = _words("a an any some another")
DEFINITE: Final = _words("the this that these those his her its their my your our")
DETERMINERS: Final = INDEFINITE | DEFINITE
PREPOSITIONS: Final = _words(
    "of in on at by with from to into onto for about against among around before after behind below"
    " beneath beside between beyond despite during inside near outside over past since through"
    " throughout toward towards under until up upon within without without like than as"
    " across along above because if unless when while who which where whose whom that but except"
)
ADVERBS: Final = _words(
    "always usually often sometimes also even still already now currently today just really very"
    " quite indeed truly certainly surely actually too ever yet then there here again well so"
    " at_all both simply merely only once exactly hardly scarcely barely"
)
HEDGES: Final = _words(
    "rarely exactly hardly scarcely barely quite really particularly entirely seldom"
)
SCOPES: Final = _words("only always alone because together everything everyone everybody")
ALONE: Final = _words("alone together")
LIMITS: Final = _words("only just merely simply")
FORMER: Final = _words(
    "former almost nearly would-be false fake alleged supposed pretended future past half once"
    " presumed potential possible ex onetime"
)

QUANTIFIERS: Final = {
    "all": "all", "every": "all", "each": "all", "everybody": "all", "everyone": "all",
    "everything": "all", "whoever": "all", "both": "all", "most": "most", "many": "many",
    "much": "many", "several": "several", "some": "some", "somebody": "some", "someone": "some",
    "something": "some", "few": "few", "half": "half",
}  # fmt: skip
PERSONS: Final = _words(
    "nothing something everything nobody everybody everyone somebody someone whoever anybody anyone"
)

OPINIONS: Final = _words(
    "think believe say claim fear hope swear tell suspect assume pretend dream suppose imagine ask"
    " wonder insist deny doubt guess feel expect maintain allege assert suggest report rumour write"
    " declare vow announce argue warn boast consider predict promise whisper reckon shout state"
)
KNOWLEDGE: Final = _words(
    "know realise realize admit discover reveal confess see notice"
    " learn remember understand prove regret forget acknowledge find"
)
SOURCES: Final = (
    "according to",
    "rumour has it",
    "rumor has it",
    "it is said",
    "they say",
    "people say",
    "legend has it",
    "allegedly",
    "supposedly",
    "reportedly",
)

ENDING_VERBS: Final = _words(
    "cease stop quit end finish discontinue abandon leave resign retire abdicate renounce"
    " relinquish"
    " surrender lose"
)
ENDED: Final = _words(
    "depose dethrone dismiss oust overthrow expel banish remove relieve strip fire sack unseat"
    " divorce exile evict disband dissolve abolish demote replace"
)
OFFICES: Final = _words(
    "king queen lord lady baron baroness duke duchess emperor empress prince ruler captain mayor"
    " abbot abbess bishop governor chancellor commander chief head regent sultan steward chairman"
    " president minister general admiral marshal warden master"
)
RULING: Final = _words("rule reign command govern lead head")

IRREGULAR: Final = """
arise arose arisen|awake awoke awoken|bear bore born borne|beat beaten|become became
begin began begun
bend bent|bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred
bring brought|build built|burn burnt burned|buy bought|catch caught|choose chose chosen|cling clung
come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt dreamed|drink drank drunk
drive drove driven|dwell dwelt|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
find found|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten
forgive forgave forgiven|forsake forsook forsaken|freeze froze frozen|get got gotten|give gave given
go went gone|grind ground|grow grew grown|hang hung hanged|hear heard|hide hid hidden|hold held
keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|leap leapt|learn learnt learned
leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met|mow mown
overthrow overthrew overthrown|overcome overcame|pay paid|prove proven|ride rode ridden
ring rang rung
rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat|slay slew slain|sleep slept|slide slid|smell smelt|sow sown
speak spoke spoken
speed sped|spend spent|spin spun|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen
stick stuck|sting stung|stride strode|strike struck stricken|string strung|strive strove striven
swear swore sworn|sweep swept|swell swollen|swim swam swum|swing swung|take took taken|teach taught
tear tore torn|tell told|think thought|throw threw thrown|tread trod trodden|undo undid undone
understand understood|wake woke woken|wear wore worn|weave wove woven|weep wept|win won
wind wound|withdraw withdrew withdrawn|write wrote written|lie lying|die dying|do done
betray betrayed
man men|woman women|child children|foot feet|tooth teeth|goose geese|mouse mice|wolf wolves
elf elves
thief thieves|wife wives|knife knives|dwarf dwarves|ox oxen|half halves
loaf loaves|shelf shelves|calf calves|wharf wharves|person persons people|brother brethren
colour color|favourite favorite|honour honor|grey gray|armour armor|harbour harbor|centre center
metre meter|litre liter|realise realize
"""
BASES: Final = _words(
    "cut put set let hit hurt cost shut spread split cast beat bet burst quit rid shed thrust wed"
    " read bid live love hate own owe need want"
)
"""Verbs that look alike in the past, or without an ending that tells them."""

NOT_PARTICIPLES: Final = _words(
    "hundred sacred naked wicked ragged rugged wretched beloved aged crooked indeed seed need breed"
    " speed weed creed greed deed steed king ring thing something nothing everything evening"
    " morning"
    " wedding building being wing string spring sibling darling duckling ceiling human even oven"
    " queen siren raven heaven garden golden wooden open sudden seven eleven brazen maiden women"
)

ONE_VALUED: Final = _words(
    "capital mother father birthday birthplace name surname nickname age rank height weight eye"
    " blood_group blood_type ruler mayor governor president headquarters seat title maiden_name"
    " date_of_birth gender sex species race home_town hometown"
    " founder husband wife king queen emperor empress nationality length width depth population"
    " author grandmother grandfather birth_date size deadline password successor predecessor"
    " number address reign abbot abbess leader"
)
"""What a thing has one of at a time, so that two values of it contradict each other."""

SHADED: Final = _words(
    "hair occupation job trade profession weapon condition mood health friend enemy rival heir"
    " dress hobby pastime favourite ally colour skin language religion status role armour food"
)
"""What may have two values or shades: two values are a question."""

SEVERAL: Final = _words(
    "friend enemy rival ally servant cousin pupil apprentice guard son daughter"
    " child brother sister uncle aunt nephew niece neighbour guest knight member"
    " student follower soldier companion colleague subject"
)

ONCE_BEGUN: Final = _words(
    "begin start end open close burn fall happen occur finish expire sink vanish disappear erupt"
    " collapse launch arrive depart leave take"
)
DONE_ONCE: Final = _words(
    "kill murder slay betray founded establish erect complete marry wed hide"
    " elect appoint consecrate baptise sink rob win abduct kidnap free save"
    " rescue design carve draw finish conquer light start cause invent father sire discover write"
    " compose"
    " build destroy behead assassinate poison crown forge paint steal sign"
)
"""What happens to one object once: two that are said to have done it are a question."""

ASYMMETRIC: Final = _words(
    "defeat kill beat conquer slay outlive succeed inherit father murder rescue"
    " bear raise precede vanquish overcome teach train adopt serve replace owe bury rule command"
    " outrank employ"
)
HOLDING: Final = _words(
    "have own hold possess wear carry keep inherit bear wield command rule lead"
)
PLACING: Final = _words("be stand sit lie live dwell stay sleep reside remain wait")
PLACES_OF: Final = _words("in at on inside within under behind near beside outside north south")

CALENDAR: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june"
    " july august september october november december"
)
TIMES: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june"
    " july"
    " august september october november december spring summer autumn winter morning noon afternoon"
    " evening night midnight dawn dusk yesterday today tomorrow year month week day then now end"
    " beginning first last"
)
TEMPORAL: Final = _words("in at on during after before since until by")

NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        _list(
            "zero one two three four five six seven eight nine ten eleven twelve"
            " thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
        )
    )
} | {
    word: 10 * n
    for n, word in enumerate(
        _list("twenty thirty forty fifty sixty seventy eighty ninety"), start=2
    )
}
ORDINALS: Final = {
    word: number
    for number, word in enumerate(
        _list("first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"),
        start=1,
    )
}
SCALES: Final = {"dozen": 12, "score": 20, "hundred": 100, "thousand": 1_000, "million": 1_000_000}
APPROXIMATE: Final = _words("about around roughly approximately nearly almost some circa ca")
AT_LEAST: Final = ("at least", "no fewer than", "no less than", "not less than", "a minimum of")
MORE_THAN: Final = ("more than", "over", "upwards of")
AT_MOST: Final = ("at most", "no more than", "not more than", "up to", "a maximum of")
FEWER_THAN: Final = ("fewer than", "less than", "under")

UNITS: Final[dict[str, tuple[str, float]]] = {
    unit: (kind, factor)
    for kind, units in {
        "length": "mm:0.001 cm:0.01 dm:0.1 m:1 km:1000 millimetre:0.001 centimetre:0.01 metre:1"
        " kilometre:1000 inch:0.0254 foot:0.3048 yard:0.9144 ft:0.3048",
        "mass": "mg:0.000001 g:0.001 kg:1 gram:0.001 kilogram:1 kilo:1 pound:0.4536 lb:0.4536"
        " ounce:0.02835 oz:0.02835 stone:6.35 tonne:1000 ton:1000 t:1000",
        "time": "s:1 second:1 min:60 minute:60 h:3600 hour:3600 day:86400 week:604800"
        " month:2629800 year:31557600 fortnight:1209600 decade:315576000 century:3155760000",
        "area": "hectare:10000 ha:10000 acre:4046.86 square_metre:1 square_kilometre:1000000"
        " square_foot:0.0929 m2:1 km2:1000000 square_mile:2589988",
        "volume": "ml:0.001 cl:0.01 l:1 litre:1 gallon:4.2 pint:0.52 cubic_metre:1000",
        "mile": "mile:1 mi:1 league:3",
    }.items()
    for unit, factor in ((u.partition(":")[0], float(u.partition(":")[2])) for u in units.split())
}
"""Units by what they measure; what is called mile or gallon differs, so those stand apart."""

COINS: Final = _words(
    "gold silver copper platinum crown coin penny pound shilling mark dollar euro"
    " thaler florin ducat"
)
