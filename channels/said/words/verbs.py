"""Verbs: what was done, what is promised, what is denied."""

from __future__ import annotations

import re

from channels.said.words.spelling import spellings

# What alone says that money went: "diya", "paid".
GAVE = spellings(
    "paid payed transferred deposited remitted settled cleared sent gave given submitted diy(a)a dia diye dediya "
    "dedia bhardiya bhejdiya bhara bhari bhare bhej[a|i|e] chukay[a|i] chukaay[a|i] दिया दिए दिये भरा भरी भरे भेजा "
    "भेजी भेजे चुकाया चुकाई चुकायी"
)
# What says so after another word: "kar di", "ho gaya", "de chuka hu", "payment done".
GAVE_AFTER_STEM = spellings(
    "di dee diyi chuka chuki chuke kiya kia kiye liya li gaya gayi gaye gya gyi gai daala dala daali done made "
    "completed hua hui दी चुका चुकी चुके किया किए लिया गया गयी गई गए हुआ हुई डाला डाली"
)
PAYING_STEM = spellings(
    "kat de kar kr bhar bhej jama chuka ho pay payment payments transfer deposit clear settle emi kist kisht "
    "installment amount paisa paise rupaye rupees upi gpay phonepe paytm neft imps rtgs online bhugtan dues यूपीआई "
    "पेटीएम फोनपे दे कर भर भेज जमा चुका हो पेमेंट भुगतान पैसा पैसे किस्त ईएमआई ट्रांसफर पे"
)
PAYING_NOUN = spellings(
    "pay payment payments transfer transferred deposit emi kist kisht installment amount paisa paise rupaye rupees rs "
    "upi gpay phonepe paytm neft imps jama bhugtan dues already money loan यूपीआई पेटीएम फोनपे पेमेंट भुगतान पैसा "
    "पैसे किस्त ईएमआई ट्रांसफर जमा रुपये"
)
# Beside "ho gaya" these are no deed: "100 rupaye litre ho gaya", "loan bada ho gaya".
ONLY_A_SUM = spellings("amount rupaye rupees rs money loan रुपये")
# "kar diya" and "ho gaya" are said of anything; "de di" and "bhar di" of money.
GOES_WITH_ANY_DEED = spellings("kar kr ho de bhar bhej कर हो दे भर भेज")
GIVES = spellings("de bhar bhej दे भर भेज")
DID_IT = spellings("kardiya krdiya kardia kardi करदिया")
DONE_WITH_A_SUM = spellings("kiya kia kiye di dee daala dala किया किए दी डाला डाली")
# "mana kar diya" is a refusal, "bata diya" a word given.
NOT_PAYING = spellings(
    "bata bol keh kah chhod chod chhor nikal nikaal mana band block call phone message msg samjha likh suna dikha rok "
    "time number naam jawab mauka start stop delay try koshish cancel bech chori gum kho tod apply request complaint "
    "promise fail failed decline declined pending reject rejected atak bounce bounced miss missed return returned "
    "refund refunded reverse reversed skip overdue बाउंस फेल रिटर्न रिफंड बता बोल कह छोड़ निकाल मना बंद कॉल फोन मैसेज "
    "समझा लिख समय नंबर जवाब"
)
FAILED = spellings(
    "fail failed decline declined reject rejected atak bounce bounced return returned refund refunded reverse "
    "reversed बाउंस फेल रिटर्न रिफंड"
)
TIME_ASKED = spellings("time mauka समय")  # "10 din ka time dedo"
# "late ho gaya" is nothing that was done; "2 din late diya" is.
COME_TO_BE = spellings("ho हो")
LATE = spellings("late due delay लेट")
CUT = spellings("kat कट")
ASKING = spellings("kya kyon kyu kyun kab क्या क्यों कब")
ASKING_FIRST = spellings("has have did do does is are was were why what when how")
DOES = spellings("is was has have had been get it already")
IS_IT_NOT = spellings("na right correct ok ना न")
PAST = (
    GAVE
    | GAVE_AFTER_STEM
    | spellings(
        "tha thi paya payi paye bola boli bole kaha bataya batayi likha likhi aaya aayi aaye aya ayi mila mili mile "
        "was were did didn't didnt had told said called "
        "bulaya bulaye came received got went took bought borrowed lost missed promised asked spoke "
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
    "deta deti dete karta karti karte bharta bharti bhejta bhejti lagata lagati sakta sakti sakte देता देती देते करता "
    "करती करते सकता सकती सकते"
)
FUTURE = HABITUAL | spellings(
    "will shall gonna going would can could promise plan planning intend trying dedo kardo bhardo remaining rest "
    "baaki baki बाकी"
)
_U = "[\u0941\u0942\u0909\u090a]"  # the two u, as signs and as letters
FUTURE_ENDING = re.compile(
    rf"(?:[uo]n?g[ai]|oong[ai]|eng[ei]|eg[ai]|[^d]og[ei]|{_U}\u0902?ग[ाी]|[एे]\u0902?ग[ाीे]|ोग[ाीे])$"
)
FUTURE_LAST_LETTERS = frozenset("aieाीे")
NOT_FUTURE = spellings("yoga yogi toga mega omega vega challenge revenge avenge scavenge pagoda naga")
IS_TO_COME = spellings("aani aana आनी आना")  # "15 ko payment aani hai"; not "15 ko aana"
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
    "if agar agr yadi jab unless maybe may might perhaps probably possibly hopefully shayad sayad try trying koshish "
    "kosis kaise kahan kaha kahaan kab kisne kaun who kya kyon kyu kyun why what when how should he she they brother "
    "husband wife papa father mother uncle usne unhone unhonne उसने उन्होंने अगर यदि जब शायद कोशिश क्या क्यों"
)
# What denies beside "not" and "nahi", and every word that ends in "n't".
CANNOT = spellings("cannot cant wont dont doesnt didnt isnt couldnt wouldnt unable never nothing without")
HARD = spellings("hard mushkil mushqil impossible namumkin difficult tough मुश्किल नामुमकिन")
NOT_IN_HINDI = spellings("nahi nahin nahii nhi nai nahee mat नहीं नही मत नहि")
MORE_OR_LESS = spellings(
    "zyada zyaada jyada jyaada more less later earlier kam upar aage above beyond ज्यादा ज़्यादा कम ऊपर आगे"
)
# "5000 not possible 4000 ok": these say of what stands before the negation that it cannot be.
NOT_TO_BE_HAD = spellings("possible ok okay fine doable feasible good enough")
MYSELF = spellings("i we i'm im we're i've")
ONLY = spellings("only sirf just bas सिर्फ बस")
# "I don't think", "pata nahi": a day after one of these and a negation is doubted.
# "maine nahi kaha ki 5000 dunga": what nobody said is no sum and no day.
SAYING = spellings("kaha kah keh bola boli bol bataya said say saying told promised बोला बोल कहा कह")
KNOWING = spellings("think sure believe know lagta lagti pata yakeen guarantee promise confirm लगता लगती पता")
DOUBTING = spellings("doubt doubtful unlikely")
NO_PROSPECT = spellings("way chance chances hope possibility")  # "there is no way I can pay on the 25th"
NO_MEANS = spellings("money payment cash funds salary")  # "no money till the 25th"; not "no money but I will pay"
TOO = spellings("early soon much high")  # "the 25th is too early"
MUCH = spellings("zyada zyaada jyada jyaada ज्यादा ज़्यादा")
WHERE = spellings("kahan kaha kahaan कहाँ कहां")
AFTER_THAT = spellings("uske iske us उसके इसके उस")
THEY = spellings("wo woh vo voh ve वो वे वह")
ADDRESSED = spellings("you aap tum आप तुम")
ADDRESSED_ANYHOW = ADDRESSED | spellings(
    "your aapko aapke aapka aapki tumko tumhe tumhare apko apke आपको आपके आपका तुमको तुम्हें"
)
TALK = spellings("baat bat baatcheet talk mulakat mil बात मिल")
PAY = spellings("pay give send transfer deposit clear settle make do arrange complete try remit repay")
AFTER_HABITUAL = spellings("hu hun hoon hai hain ho हूं हुं हैं है")
PAPERS = spellings("receipt reciept screenshot photo slip proof message msg link रसीद फोटो स्क्रीनशॉट")
IF = spellings("if agar अगर unless jab when जब")
INFINITIVES = spellings("dene dena karne karna bharne bharna bhejne bhejna देने देना करने करना भरने भरना")
NEVER = spellings("never without na havent hasnt didnt hvnt un बिना")

INCOME = spellings(
    "salary sallary selary salery pagaar pagar tankha(h) tankh[w|v]a(h) vetan pension payout stipend bonus incentive "
    "commission income wages सैलरी वेतन तनख्वाह पगार पेंशन"
)
ARRIVES = spellings(
    "aati aata aate ati aayegi aayega aaye aane ane aaegi aaega aegi aega ayegi ayega aayengi milti milta milegi "
    "milega milenge milne mile aayenge aaenge aenge come comes coming credited credit receive receives get gets "
    "getting arrives expecting expect मिलेंगे आएंगे आयेंगे आती आता आते आयेगी आएगी आयेगा आएगा आने आए मिलती मिलता "
    "मिलेगी मिलेगा मिलने"
)
ARRIVING_STEM = spellings("mil aa मिल आ")
# "mujhe 25 ko milega" is money that comes to the speaker; "aapko milega" is money from them.
TO_ME = spellings("mujhe mujhko mereko hume hamko मुझे मुझको हमें")
RECEIVE = spellings("receive receives get gets getting receiving expecting expect")
EXPECTS = spellings("expecting expect")
IT = spellings("it this that done back")
# Money that comes, where the text is not about who gets it: "25 ko paise aayenge", "money comes on the 25th".
ARRIVING_MONEY = spellings("money funds cash paise paisa पैसे पैसा")
COMES = spellings("aayenge aaenge aenge aayega aaega aega aayegi aaegi come comes coming आएंगे आयेंगे आएगा आयेगा")
COMING_STEM = spellings("aa आ")
OF_THE_OTHER_SIDE = ("aoge", "oge", "ogi", "ogey", "ोगे", "ओगे")
MAY_BE = spellings("sakta sakti sakte सकता सकती सकते")
UNREAL_MODALS = spellings("should would could must ought")
OF_MYSELF = ("unga", "ungi", "oonga", "oongi", "ुंगा", "ूंगा", "ूंगी")
ANOTHER = spellings("another other d[u|oo]sr[i|a|e] दूसरे दूसरी दूसरा")
OWED = spellings("loan emi kist kisht installment instalment bank लोन ईएमआई किस्त")
# Occasions that have a day of their own: it is not the day of a payment, unless a verb says so.
OCCASIONS = spellings(
    "s(h)a(a)di vivah wedding marriage function exam exams operation surgery interview birthday bday result joining "
    "hearing away court rent kiraya school tuition due hospital station gaon gao village bahar out admit admitted "
    "leave chutti holiday travel travelling tour busy meeting fees fee band closed appointment puja pooja flight "
    "class duty shift party nach ecs mandate autodebit किराया स्कूल कोर्ट शादी विवाह परीक्षा ऑपरेशन जन्मदिन अस्पताल "
    "गांव बाहर छुट्टी मीटिंग फीस बंद पूजा ड्यूटी"
)
SOMEBODY_GIVES = spellings("dega degi bhejega bhejegi dalega dalegi karega karegi करेगा करेगी देगा देगी भेजेगा भेजेगी")
NOW = spellings("now ab अब")
AT_TIMES = spellings("kabhi kabhie sometimes bhi कभी भी")
# What only is or goes on, beside an occasion: "bank band rahega", "fees jayegi".
ONLY_IS = spellings(
    "hoga hogi honge rahega rahegi rahenge jayega jayegi jayenge lagega lagegi होगा होगी रहेगा रहेगी जाएगा जाएगी"
)
ARRIVES_IN_ENGLISH = spellings("come arrive reach")
HAPPENS = spellings(
    "kat(t)[i|a|e] katati katata hoti hota hote ja(a)ti ja(a)ta ja(a)te कटती कटता कटते होती होता होते जाती जाता जाते"
)
ENGLISH_VERBS = spellings(
    "paid payed transferred deposited remitted settled cleared sent gave given submitted done made completed was were "
    "did didn't didnt had told said called came received got went took bought borrowed lost missed promised asked "
    "spoke informed started closed happened bounced deducted debited remaining rest baaki baki will shall going gonna "
    "would can could promise plan planning intend trying come comes coming credited credit receive receives get gets "
    "arrives expecting expect"
)

CLAIM_WORDS = GAVE | GAVE_AFTER_STEM | DID_IT | {"did"}

SENTENCE_ENDS = frozenset(".;?!\n")
CLAUSE_ENDS = SENTENCE_ENDS | {","} | spellings("lekin but magar लेकिन मगर then phir fir tab फिर तब")

# A promise that takes up the day named before it: "salary 25 ko aayegi, tab de dungi". English "then" also says only what
# comes next, so it counts where its sentence ends on it.
ON_THAT_DAY = spellings("tab tabhi तब तभी")
THEN = spellings("then")
THAT_DAY = spellings("us usi same उस उसी")
