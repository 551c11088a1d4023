"""The words by which statements are taken apart and compared, by what they do; as data.

They are words of the language, not of any world: a name or a noun of a story never stands here.
"""

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _groups(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(line.split()) for line in text.strip().splitlines())


BE: Final = _words("am is are was were be been being")
HAVE: Final = _words("have has had having")
DO: Final = _words("do does did")
MODALS: Final = {
    "can": "can", "could": "can", "may": "may", "might": "might", "must": "must", "shall": "will",
    "should": "should", "will": "will", "would": "would", "need": "must", "ought": "should",
}  # fmt: skip
PAST: Final = _words("was were had did could would might")
FUTURE: Final = _words("will would shall")
NEGATIONS: Final = _words("not never no nobody nothing none neither nor nowhere without cannot")
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
CONJUNCTIONS: Final = _words("and or nor")
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
PERSONS: Final = _words("nobody everybody everyone somebody someone whoever anybody anyone")

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
    "cease stop quit end finish discontinue abandon leave resign retire abdicate renounce relinquish"
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
arise arose arisen|awake awoke awoken|bear bore born borne|beat beaten|become became|begin began begun
bend bent|bind bound|bite bit bitten|bleed bled|blow blew blown|break broke broken|breed bred
bring brought|build built|burn burnt burned|buy bought|catch caught|choose chose chosen|cling clung
come came|creep crept|deal dealt|dig dug|draw drew drawn|dream dreamt dreamed|drink drank drunk
drive drove driven|dwell dwelt|eat ate eaten|fall fell fallen|feed fed|feel felt|fight fought
find found|flee fled|fly flew flown|forbid forbade forbidden|forget forgot forgotten
forgive forgave forgiven|forsake forsook forsaken|freeze froze frozen|get got gotten|give gave given
go went gone|grind ground|grow grew grown|hang hung hanged|hear heard|hide hid hidden|hold held
keep kept|kneel knelt|know knew known|lay laid|lead led|lean leant|leap leapt|learn learnt learned
leave left|lend lent|lie lay lain|light lit|lose lost|make made|mean meant|meet met|mow mown
overthrow overthrew overthrown|overcome overcame|pay paid|prove proven|ride rode ridden|ring rang rung
rise rose risen|run ran|say said|see saw seen|seek sought|sell sold|send sent|sew sewn
shake shook shaken|shine shone|shoot shot|show shown|shrink shrank shrunk|sing sang sung
sink sank sunk|sit sat|slay slew slain|sleep slept|slide slid|smell smelt|sow sown|speak spoke spoken
speed sped|spend spent|spin spun|spoil spoilt|spring sprang sprung|stand stood|steal stole stolen
stick stuck|sting stung|stride strode|strike struck stricken|string strung|strive strove striven
swear swore sworn|sweep swept|swell swollen|swim swam swum|swing swung|take took taken|teach taught
tear tore torn|tell told|think thought|throw threw thrown|tread trod trodden|undo undid undone
understand understood|wake woke woken|wear wore worn|weave wove woven|weep wept|win won
wind wound|withdraw withdrew withdrawn|write wrote written|lie lying|die dying|do done|betray betrayed
man men|woman women|child children|foot feet|tooth teeth|goose geese|mouse mice|wolf wolves|elf elves
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
    " speed weed creed greed deed steed king ring thing something nothing everything evening morning"
    " wedding building being wing string spring sibling darling duckling ceiling human even oven"
    " queen siren raven heaven garden golden wooden open sudden seven eleven brazen maiden women"
)

ONE_VALUED: Final = _words(
    "capital mother father birthday birthplace name surname nickname age rank height weight eye"
    " blood_group title maiden_name date_of_birth gender sex species race home_town hometown"
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

ONCE: Final = _words("bear die found be_born crown bury execute birth death")
"""What happens to somebody once, so that two places or years of it contradict each other."""

ONCE_BEGUN: Final = _words(
    "begin start end open close burn fall happen occur finish expire sink vanish disappear erupt"
    " collapse launch arrive depart leave take"
)
DONE_ONCE: Final = _words(
    "kill murder slay betray founded establish erect complete marry wed hide"
    " elect appoint consecrate baptise sink rob win abduct kidnap free save"
    " rescue design carve draw finish conquer light start cause invent father sire discover write compose"
    " build destroy behead assassinate poison crown forge paint steal sign"
)
"""What happens to one object once: two that are said to have done it are a question."""

ASYMMETRIC: Final = _words(
    "defeat kill beat conquer slay outlive succeed inherit father murder rescue"
    " bear raise precede vanquish overcome rule command outrank employ"
)
HOLDING: Final = _words(
    "have own hold possess wear carry keep inherit bear wield command rule lead"
)
PLACING: Final = _words("be stand sit lie live dwell stay sleep reside remain wait")
PLACES_OF: Final = _words("in at on inside within under behind near beside outside north south")

SYNONYMS: Final = _groups(
    """
    love adore cherish
    hate loathe detest despise
    kill slay murder
    begin start commence
    end finish cease
    big large huge great
    own possess
    ill sick
    wed marry
    buy purchase
    help aid assist
    talk speak
    reside dwell live
    destroy ruin wreck
    fear dread
    get receive obtain
    scared afraid frightened
    """
)

OPPOSED_GROUPS: Final = (
    (
        _words("like love adore admire respect esteem cherish worship enjoy fancy prefer"),
        _words("hate loathe detest despise dislike scorn abhor resent envy mind"),
    ),
    (_words("trust believe"), _words("distrust mistrust suspect doubt")),
    (
        _words("rich wealthy prosperous affluent well-off opulent"),
        _words("poor penniless destitute broke bankrupt needy beggar pauper"),
    ),
    (
        _words("brave courageous fearless valiant bold daring heroic hero intrepid"),
        _words("coward cowardly timid fearful craven faint-hearted"),
    ),
    (
        _words("happy glad cheerful merry joyful content jolly delighted"),
        _words("sad unhappy miserable gloomy sorrowful melancholy dejected depressed"),
    ),
    (
        _words("clever smart intelligent wise bright brilliant shrewd genius"),
        _words("stupid foolish dumb dull dim fool idiot simpleton silly"),
    ),
    (
        _words("beautiful pretty handsome lovely fair gorgeous attractive"),
        _words("ugly hideous plain unsightly repulsive"),
    ),
    (
        _words("good kind gentle merciful benevolent friendly kindly mild tender compassionate"),
        _words("bad evil cruel wicked merciless harsh brutal malicious ruthless nasty heartless"),
    ),
    (
        _words("honest truthful sincere trustworthy upright honourable"),
        _words("dishonest liar deceitful lying insincere crook cheat swindler thief"),
    ),
    (
        _words("loyal faithful devoted true steadfast"),
        _words("disloyal unfaithful treacherous traitor faithless false turncoat"),
    ),
    (
        _words("healthy well fit hale sound"),
        _words("ill sick ailing unwell feverish diseased sickly dying"),
    ),
    (
        _words("big large huge great enormous vast giant gigantic"),
        _words("small little tiny minute dwarfish"),
    ),
    (_words("strong mighty powerful sturdy"), _words("weak feeble frail powerless")),
    (_words("hot warm boiling scalding"), _words("cold cool freezing icy chilly frozen")),
    (_words("safe secure harmless"), _words("dangerous perilous unsafe risky deadly")),
    (_words("quiet silent peaceful still calm"), _words("loud noisy stormy rowdy turbulent")),
    (_words("generous lavish open-handed"), _words("stingy miserly mean greedy miser niggardly")),
    (_words("fast quick swift rapid"), _words("slow sluggish")),
    (_words("thin lean slim slender skinny gaunt"), _words("fat stout plump obese corpulent")),
    (_words("humble modest"), _words("proud arrogant vain haughty conceited")),
    (_words("hardworking diligent industrious"), _words("lazy idle slothful")),
    (
        _words("calm composed serene patient"),
        _words("angry furious nervous impatient anxious upset"),
    ),
    (_words("friend ally supporter companion"), _words("enemy foe rival adversary opponent")),
    (_words("guilty"), _words("innocent guiltless blameless")),
    (_words("married wed"), _words("single unmarried bachelor spinster celibate")),
    (_words("old aged elderly ancient"), _words("young youthful new")),
    (_words("clean spotless pure"), _words("dirty filthy foul polluted muddy soiled")),
    (_words("wet damp soaked moist"), _words("dry parched arid")),
    (_words("full crowded packed busy"), _words("empty deserted vacant")),
    (_words("blunt dull"), _words("sharp keen")),
    (_words("famous renowned celebrated well-known"), _words("unknown obscure forgotten")),
    (_words("cheap inexpensive"), _words("expensive costly dear pricey")),
    (_words("easy simple"), _words("difficult hard tricky")),
    (_words("support favour back help aid endorse"), _words("oppose resist hinder fight thwart")),
    (_words("accept agree approve"), _words("refuse reject decline disapprove deny")),
    (_words("praise commend"), _words("blame criticise condemn")),
    (_words("protect guard shield defend"), _words("attack threaten harm endanger")),
    (_words("sober"), _words("drunk tipsy intoxicated drunkard")),
    (_words("fertile lush fruitful green"), _words("barren desolate infertile dead")),
    (_words("wide broad"), _words("narrow")),
    (_words("tall high"), _words("short low")),
    (_words("awake"), _words("asleep sleep")),
    (_words("polite courteous civil"), _words("rude impolite insolent")),
    (_words("talkative chatty garrulous"), _words("taciturn silent reticent mute")),
    (_words("sane"), _words("mad insane crazy lunatic madman")),
    (_words("afraid scared frightened fear dread"), _words("fearless forward unafraid")),
    (_words("sunny clear bright light"), _words("dark cloudy gloomy overcast dim")),
    (_words("holy sacred blessed"), _words("unholy cursed profane accursed")),
    (_words("peaceful"), _words("warlike aggressive violent belligerent")),
    (_words("free"), _words("captive imprisoned enslaved slave prisoner bound")),
    (_words("careful cautious prudent"), _words("careless reckless rash")),
    (_words("secret hidden"), _words("public open known")),
    (_words("genuine real authentic"), _words("fake forged counterfeit false")),
    (_words("intact whole undamaged"), _words("broken shattered damaged ruined cracked")),
    (_words("tame"), _words("wild feral savage")),
    (_words("ripe"), _words("unripe")),
    (_words("lucky fortunate"), _words("unlucky unfortunate")),
    (_words("popular beloved"), _words("unpopular hated")),
)
"""Words of which each of the one side is against each of the other."""

OPPOSITES: Final = _groups(
    """
    rich poor
    wealthy penniless
    wealthy poor
    rich penniless
    brave coward
    brave cowardly
    courageous cowardly
    brave timid
    love hate
    love despise
    like dislike
    safe dangerous
    safe unsafe
    hot cold
    warm cold
    warm cool
    big small
    large small
    huge tiny
    large tiny
    tall short
    long short
    high low
    wide narrow
    broad narrow
    thick thin
    fat thin
    fat lean
    fat slim
    heavy light
    deep shallow
    strong weak
    hard soft
    rough smooth
    sharp blunt
    sharp dull
    fast slow
    quick slow
    swift slow
    early late
    young old
    new old
    ancient new
    fresh stale
    fresh rotten
    clean dirty
    clean filthy
    pure impure
    wet dry
    full empty
    bright dark
    bright dim
    light dark
    loud quiet
    noisy quiet
    noisy silent
    calm stormy
    calm angry
    happy sad
    happy miserable
    happy unhappy
    cheerful gloomy
    glad sorry
    good bad
    good evil
    kind cruel
    kind unkind
    gentle cruel
    gentle harsh
    mild severe
    generous stingy
    generous greedy
    generous miserly
    honest dishonest
    honest liar
    loyal disloyal
    loyal treacherous
    loyal traitor
    faithful unfaithful
    faithful faithless
    clever stupid
    wise foolish
    wise fool
    clever foolish
    smart stupid
    intelligent stupid
    sane mad
    sober drunk
    awake asleep
    sick well
    ill well
    sick healthy
    ill healthy
    beautiful ugly
    pretty ugly
    handsome ugly
    lovely hideous
    guilty innocent
    married single
    married unmarried
    married bachelor
    free captive
    free imprisoned
    free enslaved
    public secret
    known unknown
    famous unknown
    famous obscure
    true false
    right wrong
    real fake
    genuine forged
    cheap expensive
    cheap costly
    cheap dear
    easy difficult
    easy hard
    simple complicated
    simple complex
    friend enemy
    friend foe
    ally enemy
    friendly hostile
    friendly unfriendly
    win lose
    victory defeat
    support oppose
    help hinder
    trust distrust
    trust mistrust
    accept refuse
    accept reject
    allow forbid
    permit forbid
    praise blame
    arrive depart
    come leave
    stay leave
    rise fall
    begin end
    build destroy
    live die
    survive die
    survive perish
    win fail
    succeed fail
    pass fail
    remember forget
    sit stand
    attack defend
    create destroy
    north south
    northern southern
    east west
    eastern western
    left right
    above below
    inside outside
    before after
    near far
    upstairs downstairs
    male female
    man woman
    summer winter
    day night
    best worst
    first last
    more less
    most fewest
    majority minority
    always never
    often rarely
    often seldom
    lucky unlucky
    fertile barren
    peaceful warlike
    obedient disobedient
    patient impatient
    polite rude
    modest arrogant
    modest proud
    humble proud
    humble arrogant
    shy bold
    lazy diligent
    lazy hardworking
    idle busy
    careful careless
    visible invisible
    possible impossible
    legal illegal
    mortal immortal
    armed unarmed
    present absent
    alive dead
    sweet bitter
    sweet sour
    raw cooked
    holy unholy
    blessed cursed
    sacred profane
    natural artificial
    permanent temporary
    strict lenient
    talkative taciturn
    optimist pessimist
    popular unpopular
    calm nervous
    confident timid
    ignorant learned
    literate illiterate
    able unable
    willing unwilling
    crowded deserted
    inhabited deserted
    inhabited uninhabited
    sharp-eyed blind
    broken whole
    intact broken
    increase decrease
    grow shrink
    ascend descend
    """
)
"""Pairs that leave a middle or a point of view: said of the same, they are a question."""

RULED_OUT: Final = {
    "mute dumb speechless": "speak talk sing say shout whisper tell call cry chat shouted",
    "blind sightless": "see read watch paint aim look spot notice stare",
    "deaf": "hear listen overhear",
    "lame crippled paralysed legless bedridden": "walk run dance climb jump march leap stroll",
    "vegetarian vegan": "meat steak ham beef pork sausage bacon venison mutton chicken lamb",
    "teetotaller teetotal abstinent": "wine ale beer mead brandy whisky drunk gin rum cider",
    "illiterate": "read write wrote letter book",
    "orphan": "parent mother father",
    "bachelor unmarried celibate monk nun priest spinster": "wife husband spouse marry wed",
    "widow widower": "wife husband",
    "childless barren": "son daughter child grandson granddaughter",
    "only_child": "brother sister sibling twin",
    "penniless bankrupt beggar destitute": "pay buy donate lend purchase",
    "bald": "hair braid curl lock",
    "beardless": "beard",
    "toothless": "bite tooth chew",
    "asleep unconscious": "read talk walk run fight sing write cook",
    "pacifist": "fight kill battle sword duel",
    "hermit recluse": "party guest feast",
    "empty deserted abandoned uninhabited": "crowd inhabitant crowded resident guest live",
    "ruined destroyed demolished": "stand intact",
    "landlocked": "harbour port coast beach sea",
    "fireproof": "burn",
    "stranger": "friend",
    "retired": "work",
    "homeless": "house home",
    "one-armed": "juggle",
    "sober": "drunk",
    "unarmed": "sword dagger bow spear axe knife",
    "imprisoned captive prisoner": "roam travel ride sail dance market",
    "virgin": "child pregnant",
    "immortal deathless": "die dead death kill",
    "extinct": "see catch hunt live",
}
"""What a state leaves impossible, or odd enough to ask, of whoever is in it."""

ONE_OF: Final = _groups(
    """
    red blue green yellow black white grey brown purple orange pink golden silver violet blond hazel
    spring summer autumn winter
    monday tuesday wednesday thursday friday saturday sunday
    north south east west
    wood wooden iron stone gold silver copper bronze steel marble oak leather
    wheat barley rye
    christian muslim jewish
    morning noon afternoon evening midnight dawn dusk
    smith baker miller innkeeper tailor carpenter mason cobbler butcher
    """
)
"""Of the words of a line one is said of a thing; another beside it is a question."""

TIMES: Final = _words(
    "monday tuesday wednesday thursday friday saturday sunday january february march april june july"
    " august september october november december spring summer autumn winter morning noon afternoon"
    " evening night midnight dawn dusk yesterday today tomorrow year month week day then now end"
    " beginning first last"
)
TEMPORAL: Final = _words("in at on during after before since until by")

NUMBERS: Final = {
    word: number
    for number, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
} | {
    word: 10 * n
    for n, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
ORDINALS: Final = {
    word: number
    for number, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ],
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
