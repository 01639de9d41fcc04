"""How words are compared, and the words of the rules in `grounding` and `screening`, as data.

People here write English, Hindi in Devanagari and Hindi in Latin letters, often all three in one line, and a speech
recogniser writes them without punctuation. The lists below say what counts as a denial, an agreement, a relative and so
on; which conclusion follows is the business of the two modules that read them.

This module must not know who said a text, nor what it is evidence for.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

MARKS = frozenset('.,;:?!"')
CACHED_CHARACTERS = 400
CACHED_TEXTS = 1_024
NORMAL_PASSES = 4
GROUPS_IN_A_NUMBER = 6

_MARK_OF = {
    **dict.fromkeys("।॥\n\r\u2028\u2029", "."),
    **dict.fromkeys("()[]{}|", ","),
    **dict.fromkeys("—―", ";"),
    **dict.fromkeys("–−‐‑‒", "-"),
    **dict.fromkeys("“”„«»", '"'),
    "=": ":",
    "%": " percent ",
}
_APOSTROPHES = "'‘’‛ʼ`´ʹ\u2032"
_APOSTROPHES_IN_ASCII = frozenset("'`")
# Joiners and variation selectors change how a letter is drawn, never which word it is.
_DRAWING_ONLY = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x034F, 0x0350), range(0x180B, 0x1810))
_KEPT_AS_THEY_ARE = MARKS | frozenset("-/")


class _Characters(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        self[code] = became = _becomes(chr(code))
        return became


def _becomes(character: str) -> str:
    if character in _KEPT_AS_THEY_ARE:
        return character
    if character in _APOSTROPHES or any(ord(character) in codes for codes in _DRAWING_ONLY):
        return ""
    if character in _MARK_OF:
        return _MARK_OF[character]
    category = unicodedata.category(character)
    if category == "Nd":
        return str(unicodedata.digit(character))
    if category[0] in "LN" or category in ("Mn", "Mc"):
        return character
    return "" if category in ("Cf", "Me") else " "


_BECOMES = _Characters()
_GROUPED = re.compile(rf"(?<!\d)(?<!\d[.,])\d{{1,3}}(?:,\d{{2,3}}){{0,{GROUPS_IN_A_NUMBER}}},\d{{3}}(?![\d,]\d)(?!\d)")
# "Martha's" is Martha and an s, or else a forgotten Martha would stay in it; "don't" is one word.
_POSSESSIVE = re.compile(rf"[{_APOSTROPHES}](?=s(?!\w))")
_CLOCK_COLON = re.compile(r"(?<=\d):(?=\d)")
_SPACED_DASH = re.compile(r"(?<=\s)-+(?=\s)")
_ABBREVIATED = re.compile(r"(?<![^\s.,;:?!\"])(rs|mr|mrs|ms|dr|approx|amt|a/c|inr|st)\.")
_TOKEN = re.compile(r'(?:[^\s.,;:?!"]|(?<=\d)\.(?=\d))+|[.,;:?!"]')


def plain(text: str) -> str:
    """The text in one Unicode form and case, digits in ASCII and ungrouped, apostrophes and drawing marks gone.

    Vowel signs stay. Of the punctuation only `. , ; : ? ! " - /` are left, each standing for its kind.
    """
    if text.isascii():  # its one pass leaves nothing for another to do
        told = text.lower()
        if not _APOSTROPHES_IN_ASCII.isdisjoint(told):
            told = _POSSESSIVE.sub(" ", told)
        told = told.translate(_BECOMES)
    else:
        told = text
        for _ in range(NORMAL_PASSES):
            before = told
            told = _POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", told).casefold()).translate(_BECOMES)
            if told == before:
                break
    if "," in told:
        told = _GROUPED.sub(_ungrouped, told)
    if ":" in told:
        told = _CLOCK_COLON.sub(" ", told)
    return _ABBREVIATED.sub(r"\1 ", told) if "." in told else told


def _ungrouped(grouped: re.Match[str]) -> str:
    return grouped[0].replace(",", "")


def tokens(text: str) -> tuple[str, ...]:
    """The words of a text and the marks between them (`MARKS`), in order. A spaced dash is a `;`."""
    return _tokens_cached(text) if len(text) <= CACHED_CHARACTERS else _tokens(text)


def split_plain(told: str) -> tuple[str, ...]:
    """`tokens` of a text that `plain` already returned."""
    if "-" in told:
        told = _SPACED_DASH.sub(";", told).replace("-", " ")
    return tuple(_TOKEN.findall(told.replace("/", " ")))


def _tokens(text: str) -> tuple[str, ...]:
    return split_plain(plain(text))


_tokens_cached = lru_cache(maxsize=CACHED_TEXTS)(_tokens)


def words_of(text: str) -> tuple[str, ...]:
    """The words alone."""
    return _words_cached(text) if len(text) <= CACHED_CHARACTERS else _words_of(text)


def _words_of(text: str) -> tuple[str, ...]:
    return tuple([token for token in tokens(text) if token not in MARKS])


_words_cached = lru_cache(maxsize=CACHED_TEXTS)(_words_of)


def folded(text: str) -> str:
    """The text as it is compared: case, spacing, punctuation and Unicode form ignored, vowel signs kept (DESIGN 11).

    "5,000" and "5000" fold equal, so do composed and decomposed letters. Folding twice changes nothing.
    """
    return " ".join(words_of(text))


_NOWHERE: frozenset[int] = frozenset()


class Phrases:
    """A set of phrases of one or more words, looked for in a sequence of words."""

    def __init__(self, phrases: str) -> None:
        """`phrases`: separated by commas."""
        by_first: dict[str, list[tuple[str, ...]]] = {}
        for phrase in phrases.split(","):
            told = words_of(phrase)
            by_first.setdefault(told[0], []).append(told)
        self._by_first = {first: sorted(group, key=len, reverse=True) for first, group in by_first.items()}

    @property
    def keywords(self) -> frozenset[str]:
        """Of each phrase its longest word: where none of them stands, no phrase does."""
        return frozenset(max(phrase, key=len) for group in self._by_first.values() for phrase in group)

    def at(self, words: Sequence[str], index: int) -> int:
        """How many words from `index` on are the longest phrase that begins there; 0: none does."""
        for phrase in self._by_first.get(words[index], ()):
            if tuple(words[index : index + len(phrase)]) == phrase:
                return len(phrase)
        return 0

    def in_(self, words: Sequence[str]) -> bool:
        """Whether any phrase stands among the words."""
        if self._by_first.keys().isdisjoint(words):  # so it is nearly always
            return False
        return any(self.at(words, index) for index in range(len(words)))

    def places(self, words: Sequence[str]) -> frozenset[int]:
        """The indices of all words that belong to a phrase."""
        if self._by_first.keys().isdisjoint(words):
            return _NOWHERE
        return frozenset(place for index in range(len(words)) for place in range(index, index + self.at(words, index)))


def _set(group: str) -> frozenset[str]:
    return frozenset(words_of(group))


# --- denials -------------------------------------------------------------------------------------------------------

# A denial of what comes before it in its clause and of what comes after.
NEGATIONS_OF_ALL = _set(
    """
    never cannot cant dont wont didnt doesnt isnt arent wasnt werent havent hasnt hadnt couldnt wouldnt shouldnt
    aint nt nahi nahin nahee nahii nai nhi nhin naheen mat matt nako nahit illa illai ledu नहीं नही नहि मत नको
    """
)
# A denial of what comes after it in its clause.
NEGATIONS_AHEAD = _set(
    """
    no not nope nah none nothing nobody neither nor without unable refuse refuses refused refusing fail fails
    failed deny denies denied impossible na naa ना न
    """
)
NEGATIONS = NEGATIONS_OF_ALL | NEGATIONS_AHEAD
# After one of these "not" denies the whole clause; otherwise it sets two things against each other ("5000 not 6000").
AUXILIARIES = _set(
    """
    am is are was were be been do does did will would shall should can could may might must have has had ill im
    its
    """
)
# "not possible", "not able" deny what stands before them too.
# "aaj nahi kal", "25 ko nahi 28 ko": what stands before is denied in favour of what follows.
TIMES = _set(
    """
    aaj kal parso parson abhi today tomorrow monday tuesday wednesday thursday friday saturday sunday somvar mangalvar
    budhvar guruvar shukravar shanivar ravivar subah shaam आज कल परसों अभी
    """
)
AFTER_A_TIME = _set("ko tak tarikh tareekh taarikh tarik baje th st nd rd को तक तारीख बजे")
DENYING_PREDICATES = _set("possible able sure ready going willing interested happening way chance question")
# An answer, not a denial, when it stands first and a pronoun or an assurance follows: "nahi main de dunga".
ANSWERING_NO = _set("no nope nah nahi nahin nahee nai nhi nhin na naa नहीं नही ना न")
TAG_NO = _set("na naa ना न")
# What a tag hangs on: "bola na", "hai na".
TAGGED = _set(
    """
    bola boli bole kaha kahi bataya batayi haan han haa hai hain hoon hun hu ok okay theek thik sahi बोला बोली कहा बताया
    हाँ हां है हैं हूँ हूं ठीक सही
    """
)
HINDI_NO = _set("nahi nahin nahee nai nhi nhin नहीं नही")
OTHERWISE = _set("to toh तो")
# Words with a "no" in them that deny nothing.
HARMLESS_DENIALS = Phrases(
    """
    no problem, no problems, no prob, no probs, no issue, no issues, no worries, no worry, no tension, no doubt,
    no objection, no need to worry, not a problem, not an issue, not to worry, dont worry, do not worry,
    never mind, not only, why not, without fail, no thanks, no thank you, koi baat nahi, koi baat nahin,
    koi dikkat nahi, koi problem nahi, koi tension nahi, koi issue nahi, koi dikkat nahin, koi problem nahin,
    kyun nahi, kyu nahi, kyon nahi, chinta mat karo, chinta mat kijiye, chinta na karo, chinta na karein,
    tension mat lo, tension mat lijiye, tension na lo, fikar mat karo, fikar na karo, aur kuch nahi, bas nahi,
    कोई बात नहीं, कोई दिक्कत नहीं, क्यों नहीं, चिंता मत करो, चिंता मत कीजिए, चिंता न करें, और कुछ नहीं
    """
)
SUBJECTS = _set("i we he she they you it ill im ive main mai mein hum ham hm मैं हम")
VOCATIVES = _set("sir madam maam mam bhai bhaiya bhaiyya ji sirji didi boss yaar सर मैडम भाई भैया जी दीदी")
ANSWERING_OR_CALLING = ANSWERING_NO | VOCATIVES
ASSURANCES = _set(
    """
    pakka pukka zaroor zarur jaroor jarur surely definitely absolutely haan han haa yes yeah ok okay bilkul theek thik
    पक्का ज़रूर जरूर हाँ हां बिल्कुल ठीक
    """
)
# A denial before one of these reaches over the next subject: "I don't think I will pay".
MATRIX_VERBS = _set(
    """
    way chance possibility think believe say said know sure promise promised guarantee mean want expect feel certain hope
    lagta lagti pata keh kah bol soch socha maloom chahta chahti लगता लगती पता कह बोल सोच चाहता चाहती
    """
)
NEVER_AN_ANSWER = _set("never neither nor kabhi कभी")
# A clause ends where one of these begins another.
CLAUSE_OPENERS = _set(
    """
    but because however otherwise unless whereas although though if lekin magar par kyunki kyonki kyuki warna
    varna agar toh लेकिन मगर पर क्योंकि वरना अगर तो
    """
)
JOINERS = _set("and or aur ya और या")
# After a joiner these begin a new clause; anything else shares the verb, and so the denial, of the clause before.
NEW_CLAUSE_AFTER_A_JOINER = SUBJECTS | _set("will shall can am have has is mera meri mere my")
# After one of these "to" is "then": "agar salary aayi to".
CONDITIONS = _set("agar yadi jab अगर यदि जब")
THEN = _set("to")
FINITE = _set(
    """
    hai hain hoon hun hu tha thi gaya gayi gaye diya liya raha rahi rahe sakta sakti chahiye है हैं हूँ हूं था
    थी थे गया गई गए दिया लिया रहा रही रहे सकता सकती चाहिए
    """
)
FINITE_ENDINGS = tuple(
    _set(
        """
    unga ungi oonga oongi enge engi ega egi aunga aungi ूंगा ूँगा ूंगी ूँगी ऊंगा ऊँगा ऊंगी ऊँगी एंगे ेंगे ेगा ेगी एगा एगी
    """
    )
)
ENGLISH_VERBS = AUXILIARIES | _set("pay paid pays paying give send transfer deposit")

# --- agreeing to terms that were read back ----------------------------------------------------------------------------

AGREEMENTS = Phrases(
    """
    yes, yeah, yep, yup, yess, haan, han, haa, haanji, hanji, hnji, ha ji, ji, jee, ji haan, ok, okay, okey,
    theek hai, thik hai, theek h, thik h, tik hai, theek, thik, correct, right, sahi, sahi hai, bilkul, pakka,
    pukka, done, sure, surely, confirm, confirmed, agreed, i agree, fine, perfect, absolutely, exactly,
    definitely, of course, zaroor, zarur, jaroor, jarur, manzoor, manjoor, i will, i will pay, ill pay, will pay,
    will do, i promise, de dunga, de dungi, de doonga, de doongi, de denge, kar dunga, kar dungi, kar doonga,
    kar doongi, kar denge, bhar dunga, bhar dungi, bhar denge, ho jayega, ho jaega, why not, kyun nahi, kyu nahi,
    no problem, no objection, koi dikkat nahi, koi problem nahi, aama, aamam, seri, sari, avunu, haudu,
    thik ache, hyan, हाँ, हां, हा, जी, जी हाँ, ठीक है, ठीक, सही, सही है, बिल्कुल, बिलकुल, पक्का, ज़रूर, जरूर,
    मंज़ूर, मंजूर, दे दूँगा, दे दूंगा, दे दूँगी, दे दूंगी, कर दूँगा, कर दूंगा, कर दूँगी, कर दूंगी, हो जाएगा, यस,
    ओके, alright, all right, sounds good, that works, works for me, not a problem, no issue, no issues,
    affirmative
    """
)
# Numbers in these are no terms: "ek dum", "100 percent".
EMPHASIS = Phrases(
    """
    ek dum, ekdum, 100 percent, hundred percent, one hundred percent, sau percent, एक दम
    """
)
# With one of these a yes is taken back, put off or tied to a condition.
QUALIFIERS = Phrases(
    """
    but, however, though, although, if, unless, depends, depending, maybe, may be, perhaps, probably, possibly,
    might, try, trying, let me, i will see, will see, we will see, think, thinking, not sure, guess, hopefully,
    later, wait, hold on, actually, instead, rather, wrong, mistake, once, after, except, too much, too high,
    less, reduce, half, part, partial, installment, installments, instalment, instalments, dispute, already paid,
    call back, callback, call me, talk, difficult, more time, some time, extend, extension, joking, lekin, magar,
    par, agar, shayad, sayad, baad, phir, fir, dekhta, dekhti, dekhte, dekhunga, dekhungi, dekhenge, dekh,
    dekhna, socha, soch, sochta, sochti, sochunga, sochungi, sochenge, sochte, need time, need some,
    give me some, time do, jana chahiye, sochna, koshish, kosis, ruko, rukiye, ruk, galat, zyada, jyada, kam,
    aadha, adha, thoda, thode, thodi, kisht, kist, kishto, ho sakta, mushkil, jab, aaya to, aayi to, aayi toh,
    aaya toh, mili to, mila to, mili toh, mila toh, hua to, baat karte, baat karenge, baat karta, baat karti,
    puch, poochh, pooch, puchh, mazak, लेकिन, मगर, पर, अगर, शायद, बाद, फिर, देखता, देखती, देखते, देखूंगा,
    देखूँगा, देखूंगी, देखूँगी, देखेंगे, सोच, सोचूंगा, सोचूँगा, सोचूंगी, सोचकर, कोशिश, रुको, रुकिए, गलत, ग़लत,
    ज़्यादा, ज्यादा, कम, आधा, थोड़ा, थोड़े, किश्त, हो सकता, मुश्किल, जब, पूछ, ill see, lets see, let s see,
    dekhoonga, dekhoongi, batata, batati, bataunga, bataungi, bataoonga, bata dunga, bata dungi, let you know,
    get back, confirm karke, confirm kar ke, will confirm, ill confirm, बताऊँगा, बताऊंगा, बताऊँगी, बताऊंगी,
    बताता, बताती
    """
)
# Listening, answering to a name, asking for the terms: neither yes nor no to them.
NEITHER = Phrases(
    """
    speaking, this is she, this is he, hello, tell me, go ahead, i know, pardon, repeat, sorry, how much, when,
    bol raha, bol rahi, boliye, bolo, bataiye, batao, kahiye, suniye, sun raha, sun rahi, pata hai, maloom hai,
    kitna, kitne, kitni, kab, बोल रहा, बोल रही, बोलिए, बोलो, बताइए, बताओ, कहिए, सुनिए, पता है, कितना, कितने,
    कितनी, कब, sun liya
    """
)
# A clause with one of these asks.
QUESTIONS = Phrases(
    """
    what, which, who, where, how, why, whose, kya, kaun, kaunsa, kaunsi, kahan, kaise, kyun, kyu, क्या, कौन,
    कहाँ, कहां, कैसे, क्यों
    """
)
# A promise taken back in words that deny nothing.
# What takes up a yes of the turn before and turns it round.
BUTS = _set("but however wait no lekin magar par nahi nahin ruko लेकिन मगर पर नहीं रुको")
TAKE_BACKS = Phrases(
    "cancel, cancel it, changed my mind, change my mind, galti se, mana kar, by mistake, take it back, रद्द, गलती से"
)
# What else may stand in a reply that only says the terms again.
TERM_WORDS = _set(
    """
    rs rupees rupee rupaye rupaiye rupay inr by on the of till until to and before tarikh tareekh tarik taarikh
    date ko tak hazaar hazar hajar thousand hundred lakh lac crore sau k pay i ill will main mai hum de dunga
    dungi doonga doongi denge kar karunga karungi karenge january february march april may june july august
    september october november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday
    wednesday thursday friday saturday sunday somvar mangalvar budhvar guruvar shukravar shanivar ravivar
    tomorrow kal parso aaj today sir madam st nd rd th रुपये रुपए तारीख को तक हज़ार हजार लाख सौ दूँगा दूंगा
    दूँगी दूंगी दे मैं और कल परसों आज
    """
)
# A later turn that denies one of these takes the promise back.
PAY_WORDS = _set(
    """
    pay paying payment dena dunga dungi doonga doongi denge paunga paungi payega payegi paayega paayenge bhar bharunga
    bharungi karunga karungi karenge possible sakta sakti manage afford arrange promise promised देना दूँगा दूंगा दूँगी
    दूंगी पाऊंगा पाऊँगा पाऊंगी पाऊँगी पाएगा भर सकता सकती
    """
)
# An agent that asks this is past the read-back.
ANYTHING_ELSE = Phrases(
    """
    anything else, something else, any other, any questions, aur kuch, kuch aur, और कुछ, कुछ और
    """
)

# --- facts ------------------------------------------------------------------------------------------------------------

THE_BORROWER = _set("borrower customer client user self me caller")
FIRST_PERSON = _set(
    """
    i im ive ill my mine me we our main mai maine mera meri mere mujhe mujhko muje hum ham humko hamara hamari
    hamare humara humari apna apni apne मैं मैंने मेरा मेरी मेरे मुझे हम हमारा हमारी हमारे अपना अपनी अपने
    """
)
THIRD_PERSON = _set(
    """
    he she they his her hers their theirs him them uska uski uske usko use unka unki unke unko unhe wo woh vo
    voh उसका उसकी उसके उसको उसे उनका उनकी उनके उनको वह वो वे
    """
)
RELATIVES = {
    word: relative
    for relative, group in {
        "brother": "brother bhai bhaiya bhaiyya भाई भैया",
        "sister": "sister behen bahen behan bahan didi बहन दीदी",
        "father": "father dad daddy papa pitaji pita abbu पापा पिता पिताजी",
        "mother": "mother mom mummy mum maa mataji ammi माँ मां मम्मी माताजी",
        "husband": "husband pati shohar पति",
        "wife": "wife patni biwi bibi पत्नी बीवी",
        "son": "son beta bete बेटा बेटे",
        "daughter": "daughter beti बेटी",
        "uncle": "uncle chacha mama tau चाचा मामा ताऊ",
        "aunt": "aunt aunty chachi mami bua mausi चाची मामी बुआ मौसी",
        "cousin": "cousin",
        "nephew": "nephew bhatija",
        "niece": "niece bhatiji",
        "friend": "friend dost दोस्त",
        "neighbour": "neighbour neighbor padosi पड़ोसी",
        "partner": "partner",
        "colleague": "colleague",
    }.items()
    for word in words_of(group)
}
POSSESSIVES = _set(
    """
    my our mera meri mere hamara hamari hamare humara humari humare apna apni apne मेरा मेरी मेरे हमारा हमारी
    हमारे अपना अपनी अपने
    """
)
OF = _set("s ka ki ke ko ne का की के को ने")
# A preference needs one of these: it says that it is meant to last.
STANDING_WORDS = Phrases(
    """
    always, usually, generally, normally, mostly, typically, regularly, daily, everyday, every, each, prefer,
    prefers, preferred, preferably, preference, only, never, ever, better, best, comfortable, convenient,
    like to, from now on, from today, in future, in the future, going forward, weekdays, weekends, mornings,
    evenings, afternoons, nights, mondays, tuesdays, wednesdays, thursdays, fridays, saturdays, sundays,
    any time after, anytime after, hamesha, humesha, roz, roj, rozana, har, sirf, keval, pasand, aksar, zyadatar,
    jyadatar, kabhi mat, kabhi bhi, aage se, aaj se, aaj ke baad, kal se, mein hi, me hi, main hi, par hi, pe hi,
    ko hi, se hi, baje hi, baad hi, pehle hi, aam taur, हमेशा, रोज़, रोज, रोज़ाना, हर, सिर्फ, सिर्फ़, केवल, पसंद,
    अक्सर, ज़्यादातर, ज्यादातर, आगे से, आज से, आज के बाद, कल से, में ही, पर ही, को ही, से ही, बजे ही, बाद ही,
    kiya karo, kiya karein, kiya kijiye, kiya karen, किया करो, किया करें
    """
)
# These say that it is meant once, unless one of `FROM_NOW_ON` stands there too.
ONE_OFF = Phrases(
    """
    today, tonight, tomorrow, right now, now, this time, this week, this month, this evening, this morning,
    this once, just once, currently, at the moment, for now, day after, aaj, abhi, kal, parso, parson, is baar,
    iss baar, is mahine, iss mahine, is hafte, iss hafte, filhal, filhaal, आज, अभी, कल, परसों, इस बार, इस महीने,
    इस हफ्ते, फिलहाल
    """
)
FROM_NOW_ON = Phrases(
    """
    from now on, now on, from today, always, every, hamesha, humesha, aage se, aaj se, kal se, abhi se,
    aaj ke baad, har, roz, daily, हमेशा, आगे से, आज से, कल से, अब से, आज के बाद, हर, रोज़, रोज
    """
)
EVERY_TIME = Phrases(
    """
    har, every month, each month, every week, every fortnight, every day, monthly, weekly, fortnightly, daily,
    always, usually, generally, normally, of the month, of every, of each, har mahine, har maheene, har mahina,
    har month, har hafte, har week, hamesha, humesha, mahine ki, mahine ke, payday, pay day, salary day,
    salary date, pay date, हर महीने, हर माह, हमेशा, हर हफ्ते, महीने की, every, each
    """
)
HABITUAL = Phrases(
    """
    gets, receives, i get, we get, salary comes, aati hai, aata hai, aate hain, aati h, aata h, aati he, aata he,
    milti hai, milta hai, milte hain, milti h, milta h, hoti hai, hota hai, ho jati hai, ho jata hai,
    aa jati hai, aa jata hai, mil jati hai, mil jata hai, credit hoti, credit hota, ko aati, ko aata, ko milti,
    ko milta, comes on, comes in, comes by, comes around, comes every, come on, comes, arrives, gets credited,
    get credited, is credited, are credited, credited on, credits on, get my salary, get salary, get my pension,
    get my wages, get paid, gets paid, i am paid, im paid, we are paid, is paid on, are paid on, receive my,
    receive salary, salary is on, salary on, salary on the, pension on, wages on, income on, paid on the,
    salary ki tarikh, salary ki date, आती है, आता है, मिलती है, मिलता है, होती है, आ जाती है, आ जाता है,
    मिल जाती है, हो जाती है
    """
)
# One coming or past income, no habit.
ONE_INCOME = Phrases(
    """
    will come, will be, will get, will receive, is coming, coming on, going to, this month, next month,
    last month, this time, this week, next week, today, tomorrow, came on, got it on, was credited, yesterday,
    delayed, late, expected, aayegi, aayega, aaegi, aaega, ayegi, ayega, milegi, milega, hogi, hoga, aa rahi,
    aa raha, aayi thi, aaya tha, is mahine, iss mahine, is baar, iss baar, is month, agle mahine, aane wali,
    aane wala, aaj, kal, parso, आएगी, आएगा, आयेगी, मिलेगी, मिलेगा, होगी, होगा, आ रही, आ रहा, इस महीने, इस बार,
    अगले महीने, आने वाली, आज, कल, परसों
    """
)

# --- screening: who said it -------------------------------------------------------------------------------------------

PEOPLE = _set(
    """
    she he they borrower customer client user caller party person lady gentleman woman man husband wife brother sister
    father mother son daughter uncle aunt friend neighbour colleague relative spouse usne unhone inhone wo woh vo voh ve
    bhai behen pati patni papa maa उसने उन्होंने वह वो वे उधारकर्ता ग्राहक
    """
)
# None of these is the borrower, whatever the sentence says that they said.
NOT_THE_BORROWER = _set(
    """
    agent agents bot assistant ai i we our executive representative rep collector officer lender bank company nbfc team
    system app application portal website statement sms message record records ledger crm report note notes letter notice
    tool screen dashboard account balance outstanding file data it that this which what there here you supervisor manager
    advisor telecaller ivr maine hum humne एजेंट मैंने हमने बैंक
    """
)
# What may stand between the one who speaks and the verb.
BESIDE_A_VERB = _set(
    """
    also then again now later clearly further has had have is ne then politely repeatedly just only still already angrily
    reportedly verbally today yesterday initially finally first ondate ने
    """
)
PASSIVES = _set("was were been be being are")
SAYS = _set(
    """
    says say said saying claims claim claimed claiming states stated stating insists insisted replied replies answered
    believes thinks thought argues argued complained complains complaining alleges alleged wrote writes typed messaged
    texted reports reported maintains repeated repeats kaha bola boli bole bolta bolti kehta kehti kehte bataya batayi
    batati batata कहा बोला बोली बोले कहता कहती बताया बताती बताता
    """
)
# These speak only when what follows is what was said.
TELLS = _set("told tells telling informed informs informing mentioned mentions explained explains shared added")
TOLD_TO_US = _set("us me agent executive bot the that team to ki कि")
TOLD_TO_THE_BORROWER = _set("her him them borrower customer client user herself himself")
SPEAKING_HINDI = Phrases(
    """
    keh raha, keh rahi, keh rahe, kah raha, kah rahi, bol raha, bol rahi, bol rahe, bata raha, bata rahi,
    ka kehna hai, ka kehna tha, ke mutabik, ke anusar, कह रहा, कह रही, कह रहे, बोल रहा, बोल रही, बोल रहे,
    बता रहा, बता रही, का कहना है, के अनुसार
    """
)
ASKS = _set(
    """
    asks ask asked asking wonders wondered enquired inquired enquires inquires queried poocha pucha puchha puch पूछा पूछ
    """
)
ASKED_WHAT = _set("if whether why how when what which where who kyun kyu kab kitna kaise ki कि क्यों कब कितना कैसे")
REQUESTS = _set(
    """
    requested requests requesting wants want wanted seeks sought demanded demands proposed proposes offers hopes hoped
    negotiated negotiating insisting maanga maangi chahta chahti chahte मांगा माँगा चाहता चाहती
    """
)
SAID_TO_OR_ABOUT = _set("ok okay yes no about of to for with against on regarding")
SCOPE_ENDS = _set(
    """
    but however while whereas though although which lekin magar par jabki लेकिन मगर पर जबकि
    """
)
# After "and" these go on with what was said: "she says she went there and paid".
GOES_ON = _set("paid sent cleared deposited transferred settled that will would can could")
ACCORDING = Phrases("according to, as per, per, in the words of")
HYPOTHETICAL = _set("if until till unless whether agar jab अगर जब")
# These suppose only where the sentence looks ahead: "once she has paid she will call".
HYPOTHETICAL_AHEAD = _set("once when after")
MODALS = _set("will would shall should can could might may must ll wants want wanted plans planned hopes hoped")
# After one of these "may" is the month.
BEFORE_A_MONTH = _set("in of since last this by till until from for")
INFINITIVES = _set("be get have make pay")
FUTURE_IN_A_SENTENCE = _set("will would shall promised agreed wants asked")

# --- screening: what is true only when read ---------------------------------------------------------------------------

CURRENCIES = _set("rs inr rupees rupee rupaye rupay रुपये रुपए रु")
SCALES = _set(
    "thousand hundred lakh lakhs lac lacs crore crores hazaar hazar hajar sau million हज़ार हजार लाख करोड़ सौ k"
)
COUNTS = _set(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety ek teen char chaar paanch panch chhe chah saat aath nau
    das dus gyarah barah baarah pandrah bees pachees pachas pachaas एक दो तीन चार पाँच पांच छह सात आठ नौ दस बारह पंद्रह बीस
    पच्चीस पचास
    """
)
DO = _set("do दो")
MONTHS = _set(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
    """
)
BALANCES = Phrases(
    """
    balance, balances, bal, od, debt, short by, shortfall, ledger reads, ledger shows, system shows,
    account shows, portal shows, app shows, statement shows, crm shows, records show, record shows, due to pay,
    due to be paid, has to arrange, needs to arrange, must arrange, o s, os, pos, remains, is left, are left,
    left with, still to go, outstanding, outstandings, overdue, arrears, dues, due, owed, owes, owe, owing,
    payable, principal, remaining, remainder, unpaid, foreclosure, penalty, penalties, late fee, late fees,
    late charges, charges, interest, total, limit, left to pay, still left, amount left, pending, to be paid,
    has to pay, have to pay, needs to pay, need to pay, must pay, baaki, baki, bakaya, bakaaya, shesh, bacha hai,
    bache hai, bache hain, dena hai, dene hai, dene hain, bharna hai, bharne hain, chukana hai, बाकी, बाक़ी,
    बकाया, शेष, बैलेंस, देना है, देने हैं, भरना है
    """
)
NO_BALANCES = Phrases("due to, due date, due dates, in total agreement")
# An amount beside one of these, apart from a balance, is what somebody plans to pay.
PLANS = _set(
    """
    pay paying pays payment transfer deposit promise promised promises agreed commit commits committed proposed proposes
    offered degi dega denge dunga dungi देगी देगा दूँगी दूँगा दूंगी दूंगा
    """
)
# An amount beside one of these is not the loan's.
OTHER_MONEY = _set(
    """
    salary income earns earning earnings rent fees fee school hospital medical wages pension bonus commission business
    sales treatment wedding
    """
)
INCOMES = _set(
    """
    salary salaries wages wage pension stipend bonus commission income employer company office boss client clients vendor
    tenant tankhwah tankha vetan तनख्वाह वेतन सैलरी
    """
)
BARE_FILL = _set(
    """
    only approx approximately about total as of today now is was it hai rs inr rupees rupee the amount figure sum and
    ondate anid this that her his
    """
)
# A line that ends with one of these goes on in the next.
OPEN_ENDS = _set(
    """
    is are was were of at to the a an and or for her his with has have had in on by from about that rs inr amount balance
    outstanding due dues overdue pending total owes baaki baki bakaya hai ka ki ke बाकी बकाया है का की के
    """
)
LOANS = "loan loans account accounts card cards case cases"
DUES = (
    "emi emis installment installments instalment instalments kist kisht kists kishte kishtein dues bill bills payment "
    "payments ईएमआई किस्त किस्तें किश्त भुगतान"
)
MONEY = "amount amounts money funds sum paise paisa rakam rupees rupaye balance पैसे पैसा"
UNPAID = "pending overdue unpaid baaki baki bakaya bakaaya बाकी बाक़ी बकाया पेंडिंग"
BE = "is are was were has have had been being be remains remain still also now currently already yet all both s stands stand"
HINDI_BE = "hai hain h he tha thi है हैं था थी"
STEPS = "send submit upload provide share complete sign furnish update pay clear deposit transfer register activate"
STEPS_DONE = (
    "sent submitted uploaded provided shared completed signed furnished updated paid cleared deposited transferred "
    "registered activated"
)
PAPERS = (
    "receipt receipts document documents kyc proof statement form forms screenshot mandate signature noc pan aadhaar "
    "payment confirmation utr"
)
PRIVATE_COSTS = "fees fee rent school college tuition hospital medical electricity doctor"
HELD = "held locked blocked restricted frozen reserved earmarked withheld block lock freeze ब्लॉक होल्ड"
CLEAR = (
    "clear cleared closed settled regular irregular npa delinquent inactive active standard current defaulted nil zero "
    "foreclosed"
)
TIME_UNITS = "day days din week weeks hafte month months mahina mahine mahino दिन हफ्ते महीने"
LATE = "overdue late behind delayed delinquent dpd deri delay due pending baaki baki bakaya देरी"
DONE_HINDI = (
    "ho gaya,ho gayi,ho gaye,ho gai,ho chuka,ho chuki,kar diya,kar di,kar diye,kar chuka,kar chuki,de diya,de di,de diye,"
    "bhar diya,bhar di,bhar diye,jama kar,jama ho,jama kiya,chuka diya,chuka di,bhej diya,bhej diye,mil gaya,mil gayi,"
    "mil chuka,kiya hai,bhara hai,diya hai,हो गया,हो गई,हो चुका,कर दिया,दे दिया,भर दिया,जमा कर,चुका दिया,मिल गया"
)
NOT_A_PAYMENT = (
    "link links reminder reminders request schedule options option details receipt message plan date promise "
    "arrangement commitment method mode history baat लिंक बात"
)

# --- screening: orders, and what an agent says it sent ------------------------------------------------------------------

ORDER_OBJECTS = "me us her him it this that them account loan emi status borrower stage record flag case everything"
ORDERED_STATES = "paid settled closed verified confirmed cleared"
REMINDERS = _set("reminder reminders रिमाइंडर")
LINKS = _set("link links paylink लिंक")
OTHER_LINKS = _set(
    "kyc app download form survey feedback login video meeting website zoom registration location signup"
)
SENT = Phrases(
    """
    sent, shared, forwarded, resent, texted, whatsapped, emailed, mailed, messaged, delivered, issued,
    dispatched, bhej diya, bhej di, bhej diye, bheja, bheji, bheje, bhej chuka, bhej chuki, send kar diya,
    send kar di, send kiya, share kar diya, share kar di, share kiya, forward kar diya, whatsapp kar diya,
    भेज दिया, भेज दी, भेजा, भेजी, शेयर कर दिया, सेंड कर दिया
    """
)
NOT_YET = _set(
    """
    will would shall should can could may might going if once when unless until please kindly bhejunga bhejungi bhejenge
    bhejega bhejo bhejiye dunga dungi denge doonga doongi karunga karungi wants want wanted asked asks requested requests
    promised promises agar jab भेजूंगा भेजूँगा भेजेंगे
    """
)
NOT_DONE_BEFORE = _set("be get to")
