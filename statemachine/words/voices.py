"""Who says what in prose, and what is only supposed, planned or ordered; what an agent says it sent."""

from statemachine.words.comparing import Phrases, word_set

PEOPLE = word_set(
    """
    she he they borrower customer client user caller party person lady gentleman woman man husband wife brother sister
    father mother son daughter uncle aunt friend neighbour colleague relative spouse usne unhone inhone wo woh vo voh ve
    bhai behen pati patni papa maa उसने उन्होंने वह वो वे उधारकर्ता ग्राहक
    """
)
# None of these is the borrower, whatever the sentence says that they said.
NOT_THE_BORROWER = word_set(
    """
    agent agents bot assistant ai i we our executive representative rep collector officer lender bank company nbfc team
    system app application portal website statement sms message record records ledger crm report note notes letter notice
    tool screen dashboard account balance outstanding file data it that this which what there here you supervisor manager
    advisor telecaller ivr maine hum humne एजेंट मैंने हमने बैंक
    """
)
# What may stand between the one who speaks and the verb.
BESIDE_A_VERB = word_set(
    """
    also then again now later clearly further has had have is ne then politely repeatedly just only still already angrily
    reportedly verbally today yesterday initially finally first ondate ने
    """
)
PASSIVES = word_set("was were been be being are")
SAYS = word_set(
    """
    says say said saying claims claim claimed claiming states stated stating insists insisted replied replies answered
    believes thinks thought argues argued complained complains complaining alleges alleged wrote writes typed messaged
    texted reports reported maintains repeated repeats kaha bola boli bole bolta bolti kehta kehti kehte bataya batayi
    batati batata कहा बोला बोली बोले कहता कहती बताया बताती बताता
    """
)
# These speak only when what follows is what was said.
TELLS = word_set("told tells telling informed informs informing mentioned mentions explained explains shared added")
TOLD_TO_US = word_set("us me agent executive bot the that team to ki कि")
TOLD_TO_THE_BORROWER = word_set("her him them borrower customer client user herself himself")
SPEAKING_HINDI = Phrases(
    """
    keh raha, keh rahi, keh rahe, kah raha, kah rahi, bol raha, bol rahi, bol rahe, bata raha, bata rahi,
    ka kehna hai, ka kehna tha, ke mutabik, ke anusar, कह रहा, कह रही, कह रहे, बोल रहा, बोल रही, बोल रहे,
    बता रहा, बता रही, का कहना है, के अनुसार
    """
)
ASKS = word_set(
    """
    asks ask asked asking wonders wondered enquired inquired enquires inquires queried poocha pucha puchha puch पूछा पूछ
    """
)
ASKED_WHAT = word_set("if whether why how when what which where who kyun kyu kab kitna kaise ki कि क्यों कब कितना कैसे")
REQUESTS = word_set(
    """
    requested requests requesting wants want wanted seeks sought demanded demands proposed proposes offers hopes hoped
    negotiated negotiating insisting maanga maangi chahta chahti chahte मांगा माँगा चाहता चाहती
    """
)
SAID_TO_OR_ABOUT = word_set("ok okay yes no about of to for with against on regarding")
SCOPE_ENDS = word_set(
    """
    but however while whereas though although which lekin magar par jabki लेकिन मगर पर जबकि
    """
)
# After "and" these go on with what was said: "she says she went there and paid".
GOES_ON = word_set("paid sent cleared deposited transferred settled that will would can could")
ACCORDING = Phrases("according to, as per, per, in the words of")
HYPOTHETICAL = word_set("if until till unless whether agar jab अगर जब")
# These suppose only where the sentence looks ahead: "once she has paid she will call".
HYPOTHETICAL_AHEAD = word_set("once when after")
MODALS = word_set("will would shall should can could might may must ll wants want wanted plans planned hopes hoped")
# After one of these "may" is the month.
BEFORE_A_MONTH = word_set("in of since last this by till until from for")
INFINITIVES = word_set("be get have make pay")
FUTURE_IN_A_SENTENCE = word_set("will would shall promised agreed wants asked")

# --- orders, and what an agent says it sent ----------------------------------------------------------------------------

ORDER_OBJECTS = (
    "me us her him it this that them account loan emi status borrower customer stage record flag case everything identity "
    "promise payment dues"
)
ORDERED_STATES = "paid settled closed verified confirmed cleared"
REMINDERS = word_set("reminder reminders रिमाइंडर")
LINKS = word_set("link links paylink लिंक")
OTHER_LINKS = word_set(
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
NOT_YET = word_set(
    """
    will would shall should can could may might going if once when unless until please kindly bhejunga bhejungi bhejenge
    bhejega bhejo bhejiye dunga dungi denge doonga doongi karunga karungi wants want wanted asked asks requested requests
    promised promises agar jab भेजूंगा भेजूँगा भेजेंगे
    """
)
NOT_DONE_BEFORE = word_set("be get to")
