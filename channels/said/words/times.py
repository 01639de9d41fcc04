"""Days, hours, and what joins them; what a mark beside a number says of it."""

from __future__ import annotations

from channels.said.words.money import COUNTED, CURRENCIES, PAISE, PERCENT
from channels.said.words.numbers import HUNDRED, SCALES
from channels.said.words.spelling import spellings, table_of

# --- Joining words -----------------------------------------------------------------------------------------------------

OR = spellings("or ya yaa या ऑर अथवा athwa")
AFTER_OR = spellings("phir fir maybe even then फिर")
TO = spellings("to se - ~ till से टू")
AND = spellings("and & aur और एंड n")
CORRECTS = spellings(
    "but balki bulki lekin par magar sorry matlab yaani , बल्कि लेकिन पर मगर मतलब यानी सॉरी"
)  # "20 nahi balki 23"
# "25 kar do", "25 likh lo"; "20 mushkil hai 23 le lo": what is asked of the other side when a number is offered.
WRITE_IT = spellings("kar kr karo kardo karlo likh likho rakh rakho note put make it कर करो लिख लिखो रखो")
TAKE_IT = spellings("le lelo take ले")
PLEASE_DO = spellings("do lo dijiye lijiye दो लो")
BETWEEN = spellings("between bich beech beach बीच")
NOT = spellings("not nahi nahin nahii nhi nai nahee mat नहीं नही मत नहि")
OTHERWISE = spellings("to toh tau तो")
KE = spellings("ke ki ka k kay के की का of the 's")
THAT_IS_ASKED = spellings("ki कि")  # "hoga ki nahi"
KI = spellings("ki की")
KO = spellings("ko co को")
UNTIL = spellings("tak tk takk tq तक")
ARTICLE = frozenset({"a", "an"})
MORE = spellings("more aur और")
FILLERS = spellings(
    "ok okay yes haan ha han ji sir madam bhai please pls theek thik hai h main mai i will pay de dunga dungi . "
    ", ! - : about around approx lagbhag karib kareeb chalega chalegi rahega pakka pucca confirm confirmed final "
    "done sure fix fixed definitely zaroor हां जी ठीक है सर पक्का"
)

# --- Clock -------------------------------------------------------------------------------------------------------------

OCLOCK = spellings("baje bje bajey bajay bajne bajkar o'clock oclock बजे बजकर")
BEFORE_NOON = frozenset({"am"})
AFTER_NOON = frozenset({"pm"})
PARTS_OF_DAY: dict[str, str] = table_of(
    ("morning", "morning mornin subah subha suba savere sawere सुबह सवेरे मॉर्निंग"),
    ("midday", "noon afternoon dopahar dopeher dopahr dupahar दोपहर"),
    ("evening", "evening eve shaam sham शाम इवनिंग"),
    ("night", "night raat rat रात tonight"),
)
AT = frozenset({"at", "@"})

# --- Days --------------------------------------------------------------------------------------------------------------

TODAY = spellings("today todays 2day tonight aaj aj aaz आज टुडे")
TOMORROW = spellings("tom(m)or(r)ow 2morrow 2morow 2moro 2mrw tmrw tmr tmrow tomm tomoro टुमॉरो टुमारो टुमोरो")
YESTERDAY = spellings("yesterday yday यस्टरडे")
# One word for a day behind and a day ahead; the verb decides.
EITHER_WAY: dict[str, int] = table_of(
    (1, "ka(a)l kl कल"), (2, "parso(n) parsoo parsu(n) prso परसों परसो"), (3, "narso(n) tarso(n) नरसों तरसों")
)
PLAIN_DAYS = TODAY | TOMORROW | YESTERDAY | EITHER_WAY.keys()
DAY_END = frozenset({"eod"})

WEEKDAYS: dict[str, int] = table_of(
    (0, "monday mon som[v|w|b](a)(a)r सोमवार मंडे"),
    (1, "tuesday tue tues mangal(a)[v|w](a)(a)r mangal मंगलवार मंगल ट्यूजडे ट्यूसडे"),
    (2, "wednesday wed wednes wensday budh[v|w](a)(a)r bud[v|w]a(a)r budh बुधवार बुध वेडनसडे वेन्सडे"),
    (3, "thursday thu thur thurs gu(u)ru[v|w](a)(a)r br[i|a]haspati[v|w]a(a)r v[i|ee]r[v|w]a(a)r jumerat"),
    (3, "गुरुवार गुरूवार बृहस्पतिवार वीरवार थर्सडे"),
    (4, "friday fri s(h)uk(k)(a)r(a)[v|w](a)(a)r s(h)ukr[v|w](a)(a)r ju(m)m[a|e] शुक्रवार फ्राइडे फ्रायडे"),
    (5, "saturday sat s(h)ani[v|w](a)(a)r s(h)anichar(a) शनिवार शनिचर सैटरडे सैटर्डे"),
    (6, "sunday sun ravi[v|w](a)(a)r rabi[v|w]a(a)r (a)it[v|w](a)(a)r [e|ee|ei]t[v|w]a(a)r रविवार इतवार संडे"),
)
# "I sat", "sun lo", the name Mangal: days only where something beside them says so.
WEEKDAYS_THAT_ARE_WORDS = spellings("sat sun mon wed mangal budh मंगल बुध")
BEFORE_A_DAY = spellings("on by this next coming till until before last agle is iss every from upto latest or")
AFTER_A_DAY = spellings("tak ko or ya se तक को")

MONTHS: dict[str, int] = table_of(
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
MONTH_END = frozenset({"eom", "monthend"})

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
SE = spellings("se से")
AGO = spellings("ago back before pehle pahle phle pehele earlier पहले")
SINCE = spellings("se since for से")
EARLIER_ON = spellings("last past pichhle pichle पिछले since")
ROUGHLY = spellings("about around approx lagbhag karib kareeb लगभग करीब")
LASTING = spellings("bhar भर")  # "hafte bhar mein"
FROM_NOW = TODAY | {"now"}
AHEAD = (
    LATER | INSIDE | spellings("time samay waqt mohlat chahiye lagenge dijiye dedo समय टाइम वक्त चाहिए")
)  # "3 din ka time": three days from now

# "2 din do", "do din ruk jao", "ek hafta lagega"; and before the length: "need 2 days".
GRANTED = spellings(
    "do de dena dijiyega dedena ruk ruko rukiye rukna lag lagega lagegi wait दो दे देना रुक रुको रुकिए लग लगेगा लगेंगे"
)
ASKED_FOR = spellings("need needs want wants wait")

# --- What a mark beside a number says of it ------------------------------------------------------------------------------

UNITS_OF_TIME = DAY | WEEK | MONTH | HOUR | MINUTE
MONEY_AFTER_NUMBER = CURRENCIES.keys() | SCALES.keys() | HUNDRED | PERCENT | {"only"}
NOT_A_BARE_NUMBER = MONEY_AFTER_NUMBER | COUNTED | UNITS_OF_TIME | DATE_WORDS | MONTHS.keys() | KO | PAISE | {":", "x"}
MARKS_ANOTHER_ROLE = (
    DATE_WORDS | KO | UNTIL | OCLOCK | BEFORE_NOON | AFTER_NOON | PERCENT | UNITS_OF_TIME | COUNTED | MONTHS.keys()
)
