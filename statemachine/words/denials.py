"""What denies, what only looks as if it did, and where a clause begins and ends."""

from statemachine.words.comparing import Phrases, word_set

# A denial of what comes before it in its clause and of what comes after.
NEGATIONS_OF_ALL = word_set(
    """
    never cannot cant dont wont didnt doesnt isnt arent wasnt werent havent hasnt hadnt couldnt wouldnt shouldnt
    aint nt nahi nahin nahee nahii nai nhi nhin naheen mat matt nako nahit illa illai ledu नहीं नही नहि मत नको
    """
)
# A denial of what comes after it in its clause.
NEGATIONS_AHEAD = word_set(
    """
    no not nope nah none nothing nobody neither nor without unable refuse refuses refused refusing fail fails
    failed deny denies denied impossible na naa ना न
    """
)
NEGATIONS = NEGATIONS_OF_ALL | NEGATIONS_AHEAD
# After one of these "not" denies the whole clause; otherwise it sets two things against each other ("5000 not 6000").
AUXILIARIES = word_set(
    """
    am is are was were be been do does did will would shall should can could may might must have has had ill im
    its
    """
)
# "not possible", "not able" deny what stands before them too.
# "aaj nahi kal", "25 ko nahi 28 ko": what stands before is denied in favour of what follows.
TIMES = word_set(
    """
    aaj kal parso parson abhi today tomorrow monday tuesday wednesday thursday friday saturday sunday somvar mangalvar
    budhvar guruvar shukravar shanivar ravivar subah shaam आज कल परसों अभी
    """
)
AFTER_A_TIME = word_set("ko tak tarikh tareekh taarikh tarik baje th st nd rd को तक तारीख बजे")
DENYING_PREDICATES = word_set("possible able sure ready going willing interested happening way chance question")
# An answer, not a denial, when it stands first and a pronoun or an assurance follows: "nahi main de dunga".
ANSWERING_NO = word_set("no nope nah nahi nahin nahee nai nhi nhin na naa नहीं नही ना न")
TAG_NO = word_set("na naa ना न")
# What a tag hangs on: "bola na", "hai na".
TAGGED = word_set(
    """
    bola boli bole kaha kahi bataya batayi haan han haa hai hain hoon hun hu ok okay theek thik sahi बोला बोली कहा बताया
    हाँ हां है हैं हूँ हूं ठीक सही
    """
)
HINDI_NO = word_set("nahi nahin nahee nai nhi nhin नहीं नही")
OTHERWISE = word_set("to toh तो")
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
# Between a verb and its denial: "hai hi nahi".
EMPHASISING = word_set("hi bhi ही भी")
SUBJECTS = word_set("i we he she they you it ill im ive main mai mein hum ham hm मैं हम")
VOCATIVES = word_set("sir madam maam mam bhai bhaiya bhaiyya ji sirji didi boss yaar सर मैडम भाई भैया जी दीदी")
ANSWERING_OR_CALLING = ANSWERING_NO | VOCATIVES
ASSURANCES = word_set(
    """
    pakka pukka zaroor zarur jaroor jarur surely definitely absolutely haan han haa yes yeah ok okay bilkul theek thik
    पक्का ज़रूर जरूर हाँ हां बिल्कुल ठीक
    """
)
# A denial before one of these reaches over the next subject: "I don't think I will pay".
MATRIX_VERBS = word_set(
    """
    way chance possibility think believe say said know sure promise promised guarantee mean want expect feel certain hope
    lagta lagti pata keh kah bol soch socha maloom chahta chahti लगता लगती पता कह बोल सोच चाहता चाहती
    """
)
NEVER_AN_ANSWER = word_set("never neither nor kabhi कभी")
# A clause ends where one of these begins another.
CLAUSE_OPENERS = word_set(
    """
    but because however otherwise unless whereas although though if lekin magar par kyunki kyonki kyuki warna
    varna agar toh लेकिन मगर पर क्योंकि वरना अगर तो
    """
)
JOINERS = word_set("and or aur ya और या")
# After a joiner these begin a new clause; anything else shares the verb, and so the denial, of the clause before.
NEW_CLAUSE_AFTER_A_JOINER = SUBJECTS | word_set("will shall can am have has is mera meri mere my")
# After one of these "to" is "then": "agar salary aayi to".
CONDITIONS = word_set("agar yadi jab अगर यदि जब")
THEN = word_set("to")
FINITE = word_set(
    """
    hai hain hoon hun hu tha thi gaya gayi gaye diya liya raha rahi rahe sakta sakti chahiye है हैं हूँ हूं था
    थी थे गया गई गए दिया लिया रहा रही रहे सकता सकती चाहिए
    """
)
FINITE_ENDINGS = tuple(
    word_set(
        """
    unga ungi oonga oongi enge engi ega egi aunga aungi ूंगा ूँगा ूंगी ूँगी ऊंगा ऊँगा ऊंगी ऊँगी एंगे ेंगे ेगा ेगी एगा एगी
    """
    )
)
ENGLISH_VERBS = AUXILIARIES | word_set("pay paid pays paying give send transfer deposit")
