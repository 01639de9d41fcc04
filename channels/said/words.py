"""The words themselves: numbers, money, days and verbs as borrowers spell them. Data only.

English, Hindi in Latin letters and Hindi in Devanagari. It must not know any grammar: which word may stand beside which
is said in `grammar`, and what a phrase means on a given day in `days`.

A spelling is written as a pattern: `(x)` may be missing, `[x|y]` is one of several, so `pa(a)nch` stands for `panch` and
`paanch`. Patterns are written out at import; one spelling with two meanings in one table stops the import. Keys are
folded exactly as texts are (`reading.fold`), so composed, decomposed, dotted and undotted letters are one.
"""

from __future__ import annotations

import re
from decimal import Decimal
from itertools import product
from typing import TypeVar

from channels.said.reading import fold

Meaning = TypeVar("Meaning")

_PATTERN_PARTS = re.compile(r"\(([^)]*)\)|\[([^\]]*)\]|([^()\[\]]+)")


def spellings(patterns: str) -> frozenset[str]:
    """Every folded spelling that the blank-separated `patterns` stand for."""
    written: set[str] = set()
    for pattern in patterns.split():
        choices: list[list[str]] = []
        for optional, alternatives, plain in _PATTERN_PARTS.findall(pattern):
            choices.append(["", optional] if optional else alternatives.split("|") if alternatives else [plain])
        written.update(fold("".join(parts)) for parts in product(*choices))
    return frozenset(written)


def _table(*entries: tuple[Meaning, str]) -> dict[str, Meaning]:
    table: dict[str, Meaning] = {}
    for meaning, patterns in entries:
        for spelling in spellings(patterns):
            if table.setdefault(spelling, meaning) != meaning:
                raise AssertionError(f"{spelling!r} has two meanings in one table")
    return table


# --- Numbers -----------------------------------------------------------------------------------------------------------

ENGLISH_UNITS = _table(
    (1, "one वन"),
    (2, "two टू"),
    (3, "three थ्री"),
    (4, "four फोर"),
    (5, "five फाइव फाईव"),
    (6, "six सिक्स"),
    (7, "seven सेवन"),
    (8, "eight एट"),
    (9, "nine नाइन"),
)

ENGLISH_TENS = _table(
    (20, "twenty twenti ट्वेंटी ट्वंटी"),
    (30, "thirty थर्टी"),
    (40, "fo(u)rty फोर्टी"),
    (50, "fifty फिफ्टी"),
    (60, "sixty सिक्सटी सिक्स्टी"),
    (70, "seventy सेवेंटी सेवंटी"),
    (80, "eighty एटी एट्टी"),
    (90, "nin(e)ty नाइनटी नाइंटी"),
)

# Below a hundred, whole in one word. Hindi has a word of its own for each.
_WHOLE_WORDS = _table(
    (0, "zero shu(u)nya sho(o)nya sifar ज़ीरो शून्य सिफर"),
    (1, "ek aik एक"),
    (2, "do दो"),
    (3, "teen tin theen तीन"),
    (4, "cha(a)r चार"),
    (5, "pa(a)nch pa(a)ch पांच पाच पान्च"),
    (6, "chh[e|eh|ah|ey|hay] ch[e|eh|ey] छह छः छे छ छै"),
    (7, "saat sat सात"),
    (8, "aath ath aat आठ"),
    (9, "nau nou नौ"),
    (10, "das dus ten दस टेन"),
    (11, "(i)gya(a)ra(h) gya(a)r(a)ha eleven ग्यारह ग्यारा इलेवन"),
    (12, "ba(a)ra(h) twelve twelf बारह बारा ट्वेल्व"),
    (13, "tera(h) tehra(h) thirteen तेरह तेरा थर्टीन"),
    (14, "chauda(h) cho(u)dah chowda(h) fourteen चौदह चौदा फोर्टीन"),
    (15, "pa[n|nn]dra(h) pandh(a)ra(h) pandara(h) pundra(h) pandera(h) fifteen पंद्रह पंद्रा पंदरह फिफ्टीन"),
    (16, "so(o)la(h) solha sixteen सोलह सोला सिक्सटीन"),
    (17, "sat(t)(a)ra(h) seventeen सत्रह सत्तरह सतरह सत्रा सेवेंटीन सेवनटीन"),
    (18, "at(t)ha(a)ra(h) aatha(a)ra(h) eighteen अट्ठारह अठारह अठारा एटीन"),
    (19, "un(n)i[s|sh] un(n)ees nineteen उन्नीस उनीस नाइनटीन"),
    (20, "bees bis बीस"),
    (21, "[i|e]k(k)i[s|sh] [i|e]k(k)ees इक्कीस इकीस"),
    (22, "ba(a)is ba(a)ees ba(a)y[i|ee]s बाईस बाइस"),
    (23, "te[|y|h]is te[y|h]ees ta(y)ees teyes तेईस तेइस"),
    (24, "cha[u|w]bis cha[u|w]bees cho(u)bis cho(u)bees चौबीस चौबिस"),
    (25, "pa[ch|chh|chch|cch|cchh]is pa[ch|chh|chch|cch|cchh]ees pachies पच्चीस पचीस"),
    (26, "[chh|ch]a[b|bb]is [chh|ch]a[b|bb]ees छब्बीस"),
    (27, "sat(t)a(a)[|y]is sat(t)a(y)ees सत्ताईस सत्ताइस सताईस"),
    (28, "a(t)tha(a)[|y]is a(t)tha(y)ees at(t)a(a)is अट्ठाईस अट्ठाइस अठाईस अठाइस"),
    (29, "un(a)(t)tis un(a)(t)tees उनतीस उन्तीस उन्नतीस"),
    (30, "tees tis तीस"),
    (31, "[i|e]k(a)(t)tis [i|e]k(a)(t)tees इकतीस इक्तीस इकत्तीस"),
    (32, "ba(t)tis ba(t)tees बत्तीस बतीस"),
    (33, "t[ai|ae|e](n)tis t[ai|ae|e](n)tees तैंतीस तेंतीस तेतीस तैतीस"),
    (34, "ch[au|o|ou](n)tis ch[au|o|ou](n)tees चौंतीस चौतीस"),
    (35, "p[ai|ae|e](n)tis p[ai|ae|e](n)tees पैंतीस पेंतीस पैतीस"),
    (36, "[chh|ch]a(t)tis [chh|ch]a(t)tees छत्तीस छतीस"),
    (37, "s[ai|ae|e]ntis s[ai|ae|e]ntees सैंतीस सैतीस"),
    (38, "a[d|r]h(a)tis a[d|r](a)tis a[d|r]h(a)tees a[d|r](a)tees अड़तीस अड़तिस अड़्तिस"),
    (39, "un[t|ch]a(a)lis un[t|ch]a(a)lees उनतालीस उन्तालीस उन्तालिस उनचालीस"),
    (40, "cha(a)l(l)is cha(a)l(l)ees चालीस चालिस"),
    (41, "[i|e]k(a)ta(a)lis [i|e]k(a)ta(a)lees इकतालीस इक्तालिस इकतालिस"),
    (42, "b[a|i|]ya(a)lis b[a|i|]ya(a)lees बयालीस बयालिस ब्यालीस"),
    (43, "t[ai|e|ir](n)ta(a)lis t[ai|e|ir](n)ta(a)lees तैंतालीस तैतालिस तेतालीस तिरतालीस"),
    (44, "ch[a|au|ou][v|w]a(a)lis ch[a|au|ou][v|w]a(a)lees chau(n)ta(a)lis चौंतालीस चौवालीस चौवालिस चवालीस"),
    (45, "p[ai|e](n)ta(a)lis p[ai|e](n)ta(a)lees पैंतालीस पैतालिस पेंतालीस"),
    (46, "[chh|ch](i)ya(a)lis [chh|ch](i)ya(a)lees छियालीस छियालिस"),
    (47, "s[ai|e](n)ta(a)lis s[ai|e](n)ta(a)lees सैंतालीस सैतालिस सेंतालीस"),
    (48, "a[d|r](h)(a)ta(a)lis a[d|r](h)(a)ta(a)lees अड़तालीस अड़तालिस अड़्तालिस"),
    (49, "un(a)cha(a)s उनचास उन्चास"),
    (50, "pa[ch|chch|cch]a(a)s(s) पचास"),
    (51, "ik(k)(i)ya(a)[v|w]an ik(k)a[v|w]an इक्यावन इकावन"),
    (52, "ba(a)[v|w]an बावन"),
    (53, "tir(e)pan tirapan tre(p)pan तिरेपन तिरपन तिर्पन त्रेपन"),
    (54, "ch[au|ou|o][v|w]an चौवन चौअन"),
    (55, "pach(a)pan पचपन"),
    (56, "[chh|ch]a(p)pan छप्पन"),
    (57, "sat(t)a(a)[v|w]an सत्तावन सतावन"),
    (58, "at(t)ha(a)[v|w]an अट्ठावन अठावन"),
    (59, "un(a)sa(a)th उनसठ उन्सठ"),
    (60, "sa(a)th साठ"),
    (61, "ik(a)sa(a)th इकसठ इक्सठ"),
    (62, "ba(a)sa(a)th बासठ"),
    (63, "tir(e)sa(a)th tresa(a)th तिरेसठ तिरसठ तिर्सठ"),
    (64, "chau(n)sa(a)th चौंसठ चौसठ"),
    (65, "pai(n)sa(a)th पैंसठ पैसठ"),
    (66, "[chh|ch](i)ya(a)sa(a)th छियासठ छयासठ"),
    (67, "sa[d|r](a)sa(a)th सड़सठ सरसठ सर्सठ"),
    (68, "a[d|r](a)sa(a)th अड़सठ अड़्सठ"),
    (69, "un(a)hat(t)ar उनहत्तर उन्हत्तर"),
    (70, "sat(t)ar सत्तर"),
    (71, "ik(a)hat(t)ar इकहत्तर इक्हत्तर"),
    (72, "bahat(t)ar बहत्तर"),
    (73, "tihat(t)ar तिहत्तर"),
    (74, "chauhat(t)ar चौहत्तर"),
    (75, "p[a|i][ch|chh](a)(h)at(t)ar पचहत्तर पिचहत्तर पच्हत्तर"),
    (76, "[chh|ch]ihat(t)ar छिहत्तर"),
    (77, "sat(a)hat(t)ar सतहत्तर सत्हत्तर"),
    (78, "a[th|tth](a)hat(t)ar अठहत्तर अठ्हत्तर"),
    (79, "un(n)(y)a(a)si उन्यासी उनासी"),
    (80, "assi assee अस्सी"),
    (81, "ik(k)ya(a)si इक्यासी"),
    (82, "b(a)ya(a)si बयासी ब्यासी"),
    (83, "tira(a)si तिरासी"),
    (84, "chaura(a)si चौरासी"),
    (85, "pacha(a)si पचासी पिचासी"),
    (86, "[chh|ch]iya(a)si छियासी"),
    (87, "sat(t)a(a)si सत्तासी सतासी"),
    (88, "a[th|tth]a(a)si अठासी अट्ठासी अठ्ठासी"),
    (89, "na[v|w]a(a)si नवासी"),
    (90, "na(b)be(y) navve नब्बे नब्बै"),
    (91, "ik(k)ya(a)n(a)[v|b]e इक्यानवे इक्यानबे"),
    (92, "ba(a)n(a)[v|b]e बानवे बानबे"),
    (93, "tira(a)n(a)[v|b]e तिरानवे तिरान्बे तिरानबे"),
    (94, "chaura(a)n(a)[v|b]e चौरानवे चौरान्बे चौरानबे"),
    (95, "pa(n)cha(a)n(a)[v|b]e पचानवे पंचानवे पंचानबे पन्चान्बे"),
    (96, "[chh|ch]iya(a)n(a)[v|b]e छियानवे छियान्बे छियानबे"),
    (97, "sat(t)a(a)n(a)[v|b]e सत्तानवे सत्तान्बे सतानवे"),
    (98, "a[th|tth]a(a)n(a)[v|b]e अट्ठानवे अठानवे अट्ठान्बे"),
    (99, "nin(y)a(a)n(a)[v|b]e निन्यानवे निन्यान्बे निन्यानबे"),
)

# Words that are numbers only where something countable follows: "do hazaar" is 2,000, "bata do" is "tell me", "ke saath"
# is "with" and "tera" is "yours".
NEED_SOMETHING_COUNTED = spellings(
    "do sat sath saath ba(a)ra tera tin theen che ath aat nou tis bis दो तेरा बारा वन टू एट टेन अठ"
)
TWO = spellings("do दो")
SIXTY_OR_WITH = spellings("sath saath")
NOT_THE_NUMBER_ONE = spellings("no any this that which each every some the next last other")

NUMBER_WORDS: dict[str, int] = _WHOLE_WORDS | ENGLISH_UNITS

HUNDRED = spellings("hundred hundreds hundrd sau sou सौ हंड्रेड")
HUNDRED_AFTER_HINDI = spellings("so सो")

SCALES: dict[str, Decimal] = _table(
    (
        Decimal(10**3),
        "thousand thousnd thsnd ths haz(a)a(a)r ha(a)j(a)a(a)r hzr hjr हज़ार हज़ारे थाउज़ेंड थाउज़ंड थाउसेंड थाउजन्ड",
    ),
    (Decimal(10**5), "la(a)kh lakhs la(a)c lacs lkh लाख"),
    (Decimal(10**6), "million mn"),
    (Decimal(10**7), "crore crores cr crs karo(r)[r|d] karod caror करोड़ करोर"),
    (Decimal(10**9), "billion bn arab अरब"),
)
SCALE_LETTERS: dict[str, Decimal] = {"k": Decimal(10**3), "l": Decimal(10**5)}
# "10 din k baad", "5 k liye": the letter is the Hindi "ke".
AFTER_HINDI_KE = spellings(
    "baad bad aas aaspaas andar ander pehle pahle end liye paas bich beech upar saath sath aakhir akhir"
)
NOT_AN_EXACT_NUMBER = spellings("few some many several couple kuch kuchh kai kayi kitne kitna कुछ कई कितने")

QUARTERS: dict[str, Decimal] = _table(
    (Decimal("0.25"), "sava(a) sawa(a) सवा"),
    (Decimal("0.5"), "sa(a)dhe sa(a)de sa(a)rhe साढ़े साड़े"),
    (Decimal("-0.25"), "paun[e|a] pon[e|a] pawne पौने पौना"),
)
ONE_AND_TWO_AND_A_HALF: dict[str, Decimal] = _table(
    (Decimal("1.5"), "dedh dedhh dered derh ded डेढ़ डेड़"),
    (Decimal("2.5"), "dha(a)i dhaee (a)dha(a)yi adha(a)i ढाई अढ़ाई"),
)
HALF = spellings("half aadha adha aadhe adhe aadhi आधा आधे आधी हाफ")
PART_AFTER_AND: dict[str, Decimal] = {
    "half": Decimal("0.5"),
    "quarter": Decimal("0.25"),
    "threequarters": Decimal("0.75"),
}
POINT = spellings("point dashamlav दशमलव प्वाइंट पॉइंट")

ORDINAL_UNITS: dict[str, int] = _table(
    (1, "first"),
    (2, "second"),
    (3, "third"),
    (4, "fourth"),
    (5, "fifth"),
    (6, "sixth"),
    (7, "seventh"),
    (8, "eighth"),
    (9, "nin(e)th"),
)
_HINDI_ORDINAL_ENDINGS = spellings("vi vin veen वीं वी वां वा")
ORDINALS: dict[str, int] = (
    {
        number + ending: value
        for number, value in _WHOLE_WORDS.items()
        if 5 <= value <= 31
        for ending in _HINDI_ORDINAL_ENDINGS
        if number.isascii() == ending.isascii()
    }
    | ORDINAL_UNITS
    | _table(
        (1, "pe(h)l[i|a|e] pahl[i|a|e] पहली पहला पहले फर्स्ट"),
        (2, "d[u|oo]sr[i|a|e] दूसरी दूसरा दूसरे सेकंड"),
        (3, "t[i|ee]sr[i|a|e] तीसरी तीसरा तीसरे थर्ड"),
        (4, "chauth[i|a|e] चौथी चौथा चौथे"),
        (6, "ch(h)ath[i|a] छठी छठा छठवीं"),
        (10, "tenth"),
        (11, "eleventh"),
        (12, "twelfth"),
        (13, "thirteenth"),
        (14, "fourteenth"),
        (15, "fifteenth"),
        (16, "sixteenth"),
        (17, "seventeenth"),
        (18, "eighteenth"),
        (19, "nineteenth"),
        (20, "twentieth"),
        (30, "thirtieth"),
    )
)
# "first I will see", "second loan", "dusra number": ordinals only before a date word, or after "the" and the like.
ORDINALS_THAT_ARE_WORDS = spellings(
    "first second third pe(h)l[i|a|e] pahl[i|a|e] d[u|oo]sr[i|a|e] t[i|ee]sr[i|a|e] chauth[i|a|e] "
    "पहली पहला पहले दूसरी दूसरा दूसरे तीसरी तीसरा तीसरे फर्स्ट सेकंड"
)
# "pehle" is "before" and "dusre" "others", but for a week.
ORDINALS_OF_WEEKS = spellings("pe(h)le pahle d[u|oo]sre t[i|ee]sre chauthe पहले दूसरे तीसरे चौथे")
ORDINAL_ENDINGS = spellings("st nd rd th vi vin veen ve va वीं वी वां वा")

# --- Money -------------------------------------------------------------------------------------------------------------

CURRENCIES: dict[str, str] = _table(
    ("INR", "₹ rs re inr rupee rupees rup(a)y[a|e|ee] rup(a)iy[a|e] rupay rupye rupya rupaiah rupyee"),
    ("INR", "रु रू रुपये रुपए रुपया रुपयों रूपये रूपए रूपया रुपीज"),
    ("NGN", "₦ ngn naira nairas"),
    ("USD", "$ usd dollar dollars डॉलर"),
    ("EUR", "€ eur euro euros"),
    ("GBP", "£ gbp"),
    ("JPY", "¥ jpy yen"),
    ("BDT", "৳ bdt taka"),
    ("PHP", "₱ php"),
    ("THB", "฿ thb baht"),
    ("VND", "₫ vnd"),
    ("TRY", "₺ lira"),
    ("RUB", "₽ rub"),
    ("KRW", "₩ krw"),
    ("ILS", "₪ ils"),
    ("GHS", "₵ ghs cedi cedis"),
    ("KES", "kes ksh"),
    ("ZAR", "zar"),
    ("AED", "aed dirham dirhams"),
    ("SAR", "sar riyal riyals"),
    ("LKR", "lkr"),
    ("NPR", "npr"),
    ("PKR", "pkr"),
    ("IDR", "idr rupiah"),
    ("MYR", "myr ringgit"),
    ("SGD", "sgd"),
    ("MXN", "mxn"),
    ("BRL", "brl reais"),
    ("ARS", "ars"),
    ("COP", "cop"),
    ("AUD", "aud"),
    ("CAD", "cad"),
)
BEFORE_A_DOLLAR: dict[str, str] = {
    "us": "USD", "r": "BRL", "a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "s": "SGD", "sg": "SGD",
    "hk": "HKD", "nz": "NZD", "mx": "MXN", "nt": "TWD",
}  # fmt: skip
MONEY_WITHOUT_A_CURRENCY = spellings("only matra bucks peso pesos मात्र")
PAISE = spellings("paise paisa पैसे पैसा")
# Beside these a small bare number is money: "50 de dunga", "sirf 50".
BESIDE_MONEY = spellings(
    "de dunga dungi doonga denge dedunga deta deti dedo bhej kar karunga karungi bhar bharunga pay paying paid send give "
    "giving transfer deposit only sirf bas just amount दे दूंगा दूंगी देंगे भेज कर भर केवल सिर्फ बस"
)
PERCENT = spellings("% percent percentage pct pratishat fisdi feesdi प्रतिशत फीसदी परसेंट")

# What may be counted without being money.
COUNTED = spellings(
    "emi emis emi's kist kisht kiste kishte kisten kishten kistein installment installments instalment instalments loan "
    "loans ba(a)r dafa time times log logon people person persons bachche bache kids children member members part parts "
    "hissa hisse tukde option options points calls messages questions numbers wheeler gadi gaadi km kms kg meter metre "
    "unit units year years yr yrs sa(a)l baras bank banks account accounts card cards app apps cheque cheques bounce x "
    "किस्त किस्तें ईएमआई बार लोग लोन बच्चे हिस्से साल पार्ट इंस्टॉलमेंट"
)
COUNTED_IN_HUNDREDS = spellings(
    "ba(a)r dafa time times log logon people person persons km kms kg meter metre unit units year years sa(a)l calls messages "
    "बार लोग साल"
)
# "10th pass", "3rd party", "2nd notice": an ordinal before these is no day.
NOUNS_COUNTED_IN_ORDER = spellings("party floor hand class pass standard phase half one reminder notice attempt")
# The number after these names something: an account, a flat, a section of law.
NAMED_BY_NUMBER = spellings(
    "account acct acc ac otp pin pincode code utr rrn ref reference txn aadhaar aadhar adhar id ids number num flat sector "
    "room section house plot vehicle invoice ticket docket khata खाता नंबर पिन ओटीपी"
)
# ... and after these, if "no", "number" or the like stands between.
NAMED_BY_LINKED_NUMBER = spellings(
    "loan card policy phone mobile mob whatsapp contact bus train gate ward block case transaction bank"
)
LINK_NAME_AND_NUMBER = spellings("no number num id ending # नंबर")
BETWEEN_NAME_AND_NUMBER = LINK_NAME_AND_NUMBER | spellings("is ka ki hai with in . : -")

# --- Joining words -----------------------------------------------------------------------------------------------------

OR = spellings("or ya yaa या ऑर अथवा athwa")
AFTER_OR = spellings("phir fir maybe even then फिर")
TO = spellings("to se - till से टू")
AND = spellings("and & aur और एंड n")
BETWEEN = spellings("between bich beech beach बीच")
NOT = spellings("not nahi nahin nahii nhi nai nahee mat नहीं नही मत नहि")
OTHERWISE = spellings("to toh tau तो")
KE = spellings("ke ki ka k kay के की का of the 's")
KO = spellings("ko co को")
UNTIL = spellings("tak tk takk tq तक")
ARTICLE = frozenset({"a", "an"})
MORE = spellings("more aur और")
FILLERS = spellings(
    "ok okay yes haan ha han ji sir madam bhai please pls theek thik hai h main mai i will pay de dunga dungi . , ! - : "
    "about around approx lagbhag karib kareeb हां जी ठीक है सर"
)

# --- Clock -------------------------------------------------------------------------------------------------------------

OCLOCK = spellings("baje bje bajey bajay bajne bajkar o'clock oclock बजे बजकर")
BEFORE_NOON = frozenset({"am"})
AFTER_NOON = frozenset({"pm"})
PARTS_OF_DAY: dict[str, str] = _table(
    ("morning", "morning mornin subah subha suba savere sawere सुबह सवेरे मॉर्निंग"),
    ("midday", "noon afternoon dopahar dopeher dopahr dupahar दोपहर"),
    ("evening", "evening eve shaam sham शाम इवनिंग"),
    ("night", "night raat rat रात tonight"),
)
AT = frozenset({"at", "@"})

# --- Days --------------------------------------------------------------------------------------------------------------

TODAY = spellings("today todays tonight aaj aj aaz आज टुडे")
TOMORROW = spellings("tom(m)or(r)ow tmrw tmr tmrow tomm tomoro टुमॉरो टुमारो टुमोरो")
YESTERDAY = spellings("yesterday yday यस्टरडे")
# One word for a day behind and a day ahead; the verb decides.
EITHER_WAY: dict[str, int] = _table(
    (1, "kal kl कल"), (2, "parso(n) parsoo parsu(n) prso परसों परसो"), (3, "narso(n) tarso(n) नरसों तरसों")
)
PLAIN_DAYS = TODAY | TOMORROW | YESTERDAY | EITHER_WAY.keys()
DAY_END = frozenset({"eod"})

WEEKDAYS: dict[str, int] = _table(
    (0, "monday mon som[v|w](a)(a)r सोमवार मंडे"),
    (1, "tuesday tue tues mangal(a)[v|w](a)(a)r mangal मंगलवार मंगल ट्यूजडे ट्यूसडे"),
    (2, "wednesday wed wednes wensday budh[v|w](a)(a)r bud[v|w]a(a)r budh बुधवार बुध वेडनसडे वेन्सडे"),
    (3, "thursday thu thur thurs gu(u)ru[v|w](a)(a)r brihaspati[v|w]a(a)r v[i|ee]r[v|w]a(a)r jumerat"),
    (3, "गुरुवार गुरूवार बृहस्पतिवार वीरवार थर्सडे"),
    (4, "friday fri s(h)ukra[v|w](a)(a)r s(h)ukr[v|w](a)(a)r ju(m)ma शुक्रवार फ्राइडे फ्रायडे"),
    (5, "saturday sat s(h)ani[v|w](a)(a)r s(h)anichar(a) शनिवार शनिचर सैटरडे सैटर्डे"),
    (6, "sunday sun ravi[v|w](a)(a)r rabi[v|w]a(a)r (a)it[v|w](a)(a)r eit[v|w]a(a)r रविवार इतवार संडे"),
)
# "I sat", "sun lo", the name Mangal: days only where something beside them says so.
WEEKDAYS_THAT_ARE_WORDS = spellings("sat sun mon wed mangal budh मंगल बुध")
BEFORE_A_DAY = spellings("on by this next coming till until before last agle is iss every from upto latest or")
AFTER_A_DAY = spellings("tak ko or ya se तक को")

MONTHS: dict[str, int] = _table(
    (1, "january jan jan[v|w]ari janu(a)ry जनवरी जैनुअरी"),
    (2, "february feb febuary feburary februari far[v|w]ari फरवरी फेब्रुअरी"),
    (3, "march mar maarch मार्च"),
    (4, "april apr aprail अप्रैल"),
    (5, "may मई"),
    (6, "june jun joon जून"),
    (7, "july jul julai जुलाई"),
    (8, "august aug agast अगस्त"),
    (9, "september sept sep sitambar सितंबर"),
    (10, "october oct octuber a[k|c]tu(u)bar a[k|c]too(b)bar अक्टूबर अक्तूबर"),
    (11, "november nov na[v|w]ambar नवंबर"),
    (12, "december dec disambar दिसंबर"),
)

DATE_WORDS = spellings("ta(a)ri[k|kh] tare[e|]kh ta(a)ree[k|kh] tareeq date dt dated तारीख तारिख डेट ता")
BEFORE_A_DATE = spellings("on by before till until til upto dated date dt tarikh tareekh तारीख after")
DAY = spellings("day days din dino(n) dinn दिन दिनों डे डेज")
WEEK = spellings("week weeks wk wks hafta haft[e|ey|o|on] हफ्ता हफ्ते हफ्तों वीक")
WEEKEND = spellings("weekend weekends वीकेंड")
MONTH = spellings("month months mnth mnths mahin[a|e|ey|o|on] maheen[a|e] mhin[a|e] maah महीना महीने महीनों माह मंथ")
HOUR = spellings("hour hours hr hrs ghant[a|e|ey|o|on] घंटा घंटे घंटों")
MINUTE = spellings("minute minutes min mins minat मिनट")
MONTH_END = frozenset({"eom"})

NEXT = spellings("next nxt agl[e|a|i|ey|ay] अगले अगला अगली नेक्स्ट")
THIS = spellings("this is iss isi current इस इसी")
COMING = spellings("coming upcoming aanewale anewale aagami आगामी")
COMING_FIRST_OF_TWO = spellings("aane ane आने")
COMING_SECOND_OF_TWO = spellings("wal[e|a|i] val[e|a|i] वाले वाला वाली")
LAST = spellings("last previous pichhl[e|a|i] pichl[e|a|i] past beete पिछले पिछला पिछली बीते लास्ट")

END = spellings(
    "end ending ends aakh[i|]r aakh[i|]ri akh[i|]r akh[i|]ri ant last khatam khatm आखिर आखिरी आखरी अंत खत्म एंड लास्ट"
)
START = spellings("start starting beginning begin shuru shuruat shuruaat shuruwat शुरू शुरुआत")

INSIDE = spellings("mein me main m mei in में मे andar ander bhitar bheetar under within अंदर भीतर")
LATER = spellings("baad bad baadh bd later hence बाद")
WITHIN = spellings("in within after next agle coming अगले")
AGO = spellings("ago back before pehle pahle phle pehele earlier पहले")
SINCE = spellings("se since for से")
EARLIER_ON = spellings("last past pichhle pichle पिछले since")
FROM_NOW = TODAY | {"now"}
AHEAD = LATER | INSIDE | spellings("time samay waqt mohlat समय टाइम वक्त")  # "3 din ka time": three days from now

# --- What a mark beside a number says of it ------------------------------------------------------------------------------

_UNITS_OF_TIME = DAY | WEEK | MONTH | HOUR | MINUTE
MONEY_AFTER_NUMBER = CURRENCIES.keys() | SCALES.keys() | HUNDRED | PERCENT | {"only"}
NOT_A_BARE_NUMBER = MONEY_AFTER_NUMBER | COUNTED | _UNITS_OF_TIME | DATE_WORDS | MONTHS.keys() | KO | PAISE | {":", "x"}
MARKS_ANOTHER_ROLE = (
    DATE_WORDS | KO | UNTIL | OCLOCK | BEFORE_NOON | AFTER_NOON | PERCENT | _UNITS_OF_TIME | COUNTED | MONTHS.keys()
)

# --- Verbs -------------------------------------------------------------------------------------------------------------

# What alone says that money went: "diya", "paid".
GAVE = spellings(
    "paid payed transferred deposited remitted settled cleared sent gave given submitted "
    "diy(a)a dia diye bhara bhari bhej[a|i|e] chukay[a|i] chukaay[a|i] "
    "दिया दिए दिये भरा भरी भेजा भेजी भेजे चुकाया चुकाई चुकायी"
)
# What says so after another word: "kar di", "ho gaya", "de chuka hu", "payment done".
GAVE_AFTER_STEM = spellings(
    "di dee diyi chuka chuki chuke kiya kia kiye liya li gaya gayi gaye gya gyi gai daala dala daali done made completed "
    "hua hui दी चुका चुकी चुके किया किए लिया गया गयी गई गए हुआ हुई डाला डाली"
)
PAYING_STEM = spellings(
    "kat de kar kr bhar bhej jama chuka ho pay payment payments transfer deposit clear settle emi kist kisht installment "
    "amount paisa paise rupaye rupees upi gpay phonepe paytm neft imps rtgs online bhugtan dues "
    "दे कर भर भेज जमा चुका हो पेमेंट भुगतान पैसा पैसे किस्त ईएमआई ट्रांसफर पे"
)
PAYING_NOUN = spellings(
    "pay payment payments transfer transferred deposit emi kist kisht installment amount paisa paise rupaye rupees rs upi "
    "gpay phonepe paytm neft imps jama bhugtan dues already money loan "
    "पेमेंट भुगतान पैसा पैसे किस्त ईएमआई ट्रांसफर जमा रुपये"
)
# "kar diya" and "ho gaya" are said of anything; "de di" and "bhar di" of money.
GOES_WITH_ANY_DEED = spellings("kar kr ho de bhar bhej कर हो दे भर भेज")
GIVES = spellings("de bhar bhej दे भर भेज")
DONE_WITH_A_SUM = spellings("kiya kia kiye di dee daala dala किया किए दी डाला डाली")
# "mana kar diya" is a refusal, "bata diya" a word given.
NOT_PAYING = spellings(
    "bata bol keh kah chhod chod chhor nikal nikaal mana band block call phone message msg samjha likh suna dikha rok time "
    "number naam jawab mauka start stop delay बता बोल कह छोड़ निकाल मना बंद कॉल फोन मैसेज समझा लिख समय नंबर जवाब"
)
PAST = (
    GAVE
    | GAVE_AFTER_STEM
    | spellings(
        "tha thi bola boli bole kaha bataya batayi aaya aayi aaye aya ayi mila mili mile "
        "was were did had told said called came received got went took bought borrowed lost missed promised asked spoke "
        "informed started closed happened bounced deducted debited "
        "था थी थे बोला बोली कहा बताया आया आयी आई मिला मिली गये"
    )
)
ENGLISH_PAST_PARTICIPLES = spellings(
    "paid payed transferred deposited settled cleared sent given submitted done made completed"
)
# Before a participle these make it something still to come, or something that happens to the speaker.
NOT_YET = spellings(
    "will shall be get gets getting to would can could should must i'll we'll it'll he'll she'll they'll am being got"
)
UNREAL = spellings("hota hoti hote होता होती होते")
HABITUAL = spellings(
    "deta deti dete karta karti karte bharta bharti bhejta bhejti sakta sakti sakte "
    "देता देती देते करता करती करते सकता सकती सकते"
)
FUTURE = HABITUAL | spellings(
    "will shall gonna going would can could promise plan planning intend trying dedo kardo bhardo remaining rest baaki baki "
    "बाकी"
)
_U = "[\u0941\u0942\u0909\u090a]"  # the two u, as signs and as letters
FUTURE_ENDING = re.compile(
    rf"(?:[uo]n?g[ai]|oong[ai]|eng[ei]|eg[ai]|[^d]og[ei]|{_U}\u0902?ग[ाी]|[एे]\u0902?ग[ाीे]|ोग[ाीे])$"
)
FUTURE_LAST_LETTERS = frozenset("aieाीे")
NOT_FUTURE = spellings("yoga yogi toga mega omega vega challenge revenge avenge scavenge pagoda naga")
FIRST_PERSON_WILL_PAY = re.compile(
    r"(?:d|de|ded|kar|kr|kard|krd|bhar|bhard|bhej|chuka|chukad|lauta)(?:u|o|oo|ou)n?g[ai]$"
    r"|(?:de|kare|bhare|bheje|chukaye)ng[ei]$"
    rf"|(?:द|कर|भर|भेज|चुका){_U}\u0902?ग[ाी]$|(?:दे|करे|भरे|भेजे)\u0902गे$"
)
REST = spellings("remaining rest baaki baki बाकी")
WILL = spellings("will shall gonna going i'll we'll")
CAN = spellings("can could")
# A promise beside one of these is a hope, a question or somebody else's.
PUT_OFF = spellings(
    "if agar agr yadi jab unless maybe may might perhaps probably possibly hopefully shayad sayad try trying koshish kosis "
    "kya kyon kyu kyun why what when how should he she they bhai brother husband wife papa father mother uncle "
    "अगर यदि जब शायद कोशिश क्या क्यों"
)
ADDRESSED = spellings("you aap tum आप तुम")
TALK = spellings("baat bat baatcheet talk mulakat mil बात मिल")
PAY = spellings("pay give send transfer deposit clear settle make do arrange complete try remit repay")
AFTER_HABITUAL = spellings("hu hun hoon hai hain ho हूं हुं हैं है")
PAPERS = spellings("receipt reciept screenshot photo slip proof message msg link रसीद फोटो स्क्रीनशॉट")
IF = spellings("if agar अगर unless jab when जब")
NEVER = spellings("never without na havent hasnt didnt hvnt un बिना")

INCOME = spellings(
    "salary sallary selary salery pagaar pagar tankha(h) tankh[w|v]a(h) vetan pension payout stipend bonus incentive "
    "commission income wages सैलरी वेतन तनख्वाह पगार पेंशन"
)
ARRIVES = spellings(
    "aati aata aate ati aayegi aayega aaye aane ane aaegi aaega aegi aega ayegi ayega aayengi "
    "milti milta milegi milega milne mile come comes coming credited credit receive receives get gets arrives "
    "आती आता आते आयेगी आएगी आयेगा आएगा आने आए मिलती मिलता मिलेगी मिलेगा मिलने"
)
ENGLISH_VERBS = spellings(
    "paid payed transferred deposited remitted settled cleared sent gave given submitted done made completed was were did "
    "had told said called came received got went took bought borrowed lost missed promised asked spoke informed started "
    "closed happened bounced deducted debited remaining rest baaki baki will shall going gonna would can could promise plan "
    "planning intend trying come comes coming credited credit receive receives get gets arrives"
)

CLAIM_WORDS = GAVE | GAVE_AFTER_STEM

SENTENCE_ENDS = frozenset(".;?!\n")
CLAUSE_ENDS = SENTENCE_ENDS | {","} | spellings("lekin but magar लेकिन मगर then phir fir tab फिर तब")
