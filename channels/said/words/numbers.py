"""Numbers, from one to crores, and what scales them."""

from __future__ import annotations

from decimal import Decimal

from channels.said.words.spelling import spellings, table_of

ENGLISH_UNITS = table_of(
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

ENGLISH_TENS = table_of(
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
_WHOLE_WORDS = table_of(
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
    (17, "sat(t)[|a|aa]ra(h) seventeen सत्रह सत्तरह सतरह सत्रा सेवेंटीन सेवनटीन"),
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
    (28, "a(t)tha(a)[|y]is a(t)tha(y)ees at(t)a(a)is at(t)a(a)(y)ees अट्ठाईस अट्ठाइस अठाईस अठाइस"),
    (29, "un(n)(a)(t)tis un(n)(a)(t)tees उनतीस उन्तीस उन्नतीस"),
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
    (51, "ik(k)(i)ya(a)[v|w]an ekya(a)[v|w]an ik(k)a[v|w]an इक्यावन इकावन"),
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

SCALES: dict[str, Decimal] = table_of(
    (
        Decimal(10**3),
        "thousand thousands thousnd thsnd ths thou grand haz(a)a(a)r hazza(a)r ha(a)j(a)a(a)r hzr hjr "
        "हज़ार हज़ारे थाउज़ेंड थाउज़ंड थाउसेंड थाउजन्ड",
    ),
    (Decimal(10**5), "la(a)kh lakhs la(a)c lacs lkh लाख"),
    (Decimal(10**6), "million mn"),
    (Decimal(10**7), "crore crores cr crs karo(r)[r|d] karod caror करोड़ करोर"),
    (Decimal(10**9), "billion bn arab अरब"),
)
SCALE_LETTERS: dict[str, Decimal] = {"k": Decimal(10**3), "l": Decimal(10**5)}
# "10 din k baad", "5 k liye": the letter is the Hindi "ke".
AFTER_HINDI_KE = spellings(
    "baad bad aas aaspaas andar ander pehle pahle end liye paas bich beech upar saath sath aakhir akhir badle alawa bina "
    "karib kareeb aage din hafte mahine jagah tarah"
)
NOT_AN_EXACT_NUMBER = spellings("few some many several couple kuch kuchh kai kayi kitne kitna कुछ कई कितने")

QUARTERS: dict[str, Decimal] = table_of(
    (Decimal("0.25"), "sav(v)a(a) saw(w)a(a) सवा"),
    (Decimal("0.5"), "sa(a)dhe sa(a)de sa(a)rhe साढ़े साड़े"),
    (Decimal("-0.25"), "p[au|o|aw]n[e|ey|ay|a|i|] पौने पौना"),
)
ONE_AND_TWO_AND_A_HALF: dict[str, Decimal] = table_of(
    (Decimal("1.5"), "dedh dedhh dered derh ded डेढ़ डेड़"),
    (Decimal("2.5"), "dha(a)i dhaee (a)dha(a)yi adha(a)i ढाई अढ़ाई"),
)
HALF = spellings("half aadha adha aadhe adhe aadhi आधा आधे आधी हाफ")
QUARTER = spellings("quarter quarters pa(a)v pa(a)o पाव")
PART_AFTER_AND: dict[str, Decimal] = {
    "half": Decimal("0.5"),
    "quarter": Decimal("0.25"),
    "threequarters": Decimal("0.75"),
}
POINT = spellings("point dashamlav दशमलव प्वाइंट पॉइंट")

ORDINAL_UNITS: dict[str, int] = table_of(
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
    | table_of(
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
