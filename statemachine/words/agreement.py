"""Agreeing to terms that were read back, taking it back, and what is neither."""

from statemachine.words.comparing import Phrases, word_set

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
BUTS = word_set("but however wait no lekin magar par nahi nahin ruko लेकिन मगर पर नहीं रुको")
TAKE_BACKS = Phrases(
    "cancel, cancel it, changed my mind, change my mind, galti se, mana kar, by mistake, take it back, रद्द, गलती से"
)
# What else may stand in a reply that only says the terms again.
TERM_WORDS = word_set(
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
PAY_WORDS = word_set(
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
