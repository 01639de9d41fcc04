"""What is told beside a promise: words given, other deeds, who said it, whether or not; and calls that are not wanted."""

from __future__ import annotations

import re

from channels.said.words.spelling import spellings

# A day on which only a word is given: "25 ko batata hu", "kal phone karunga", "I will let you know on the 25th".
TELLS = spellings(
    "batata batati batate bolta bolti sochta sochti sochte dekhta dekhti dekhte puchta puchti samajhta बताता बताती "
    "बताते बोलता बोलती सोचता सोचती सोचते देखता देखती देखते पूछता"
)
WILL_TELL = re.compile(
    r"(?:bata|bat|bol|soch|dekh|puch|pooch)(?:d|de)?(?:u|o|oo|au|aau)?(?:n?g[ai]|enge)$"
    r"|(?:बता|बोल|सोच|देख|पूछ)[\u0941\u0942\u0909\u090a\u0947\u090f]\u0902?ग[ाीे]$"
)
TELLING_STEM = spellings(
    "bata bol soch dekh puch pooch call phone fon baat message msg whatsapp confirm check inform intimate update "
    "contact visit join discuss request recharge ring reply jawab answer email mail sign exam interview test form "
    "document documents docs papers receipt reciept screenshot photo slip proof statement details address chhutti "
    "chutti complaint complain case fir report shift apply register update kaam delete uninstall pata information "
    "info jaankari बता बोल सोच देख पूछ कॉल फोन बात मैसेज कन्फर्म चेक"
)
# "payment karke batata hu", "bhar ke message karunga": first it is paid.
HAVING_PAID = spellings("karke krke करके")
HAVING_PAID_IN_ONE = spellings("bharke deke bhejke daalke dalke भरके देके भेजके")
PAYING_BEFORE_KE = spellings("bhar de daal dal bhej भर दे डाल भेज")
LIGHT_VERBS = spellings("kar kr de bhar bhej le कर दे भर भेज ले")
TELL = spellings(
    "let call tell inform confirm check see think update ask talk speak ring message text discuss contact know email "
    "mail reply sign visit join apply complain"
)
IS_PAID = spellings("paying sending transferring giving clearing depositing making settling doing remitting")
# "kal 5 baje gaadi chala raha hounga", "main gaon me rahunga".
BE_MYSELF = spellings("hounga houngi hunga hungi hoonga hoongi rahunga rahungi rahoonga होऊंगा हूंगा रहूंगा रहूंगी")
TAKEN = spellings("le ले")
WILL_TAKE = re.compile(r"l(?:u|oo|o)n?g[ai]$|lenge$|ल[\u0942\u0947]\u0902ग[ाीे]$")

SAID = spellings("said told says say saying bola boli bole kaha bataya batayi बोला बोली बोले कहा बताया")
BY_SOMEBODY = spellings("ne aapne apne tumne usne unhone unhonne kisine ने आपने तुमने उसने उन्होंने किसीने")
ASKS = SAID | spellings(
    "maang mang maangte mangte maango bol keh kah asking ask asked want demand demanding wanted मांग बोल कह"
)
SUCH = spellings("aisa esa yeh ye ऐसा यह ये")
REPORTERS = spellings(
    "you your aap aapne aapke tum tumne tumhare agent agents boss manager malik maalik company bank office executive "
    "colleague recovery care team sir madam sahab आप आपने आपके तुम तुमने एजेंट मैनेजर मालिक कंपनी बैंक"
)
BY_ME = spellings("main mai mein maine humne hum mene मैं मैंने हमने हम")
FALLS_DUE = spellings("emi emis kist kisht installment instalment billing bill due premium ईएमआई किस्त")
OF_A_DEADLINE = spellings("last due final a[a|]kh[i|]ri aakh[i|]ri आखिरी आखरी अंतिम लास्ट ड्यू")
NA = spellings("na ना न")
ALSO = spellings("bhi भी")
WHETHER = spellings(
    "ho hoga hogi hua hui aaye aaya aayi aayegi aayega mile mila mili milega milegi de diya kare kiya hone हो होगा "
    "होगी हुआ हुई आए आये आया आई आयी मिले मिला मिली दे करे"
)
IN_THAT_CASE = spellings("to toh tau तो")
IF_IT_DID = spellings(
    "aaya aayi aaye aa(y)e aata aati mila mili mile milta milti hua hui hue hota hoti gaya gayi gaye gya gyi diya "
    "diye di kiya ki rahi raha rahe laga lagi sake saka saki saku jaye jaaye jayega jayegi ho paya payi bacha bache "
    "bachi chala chali आया आयी आई आए मिला मिली मिले हुआ हुई गया गयी गई गए सके सका जाए जाये"
)

# Who did it.
OF_AN_EMPLOYER = spellings("company boss malik maalik bank office sarkar seth कंपनी मालिक बैंक")
NE = spellings("ne ने")
DONE_BY_YOU = spellings("you aapne apne tumne आपने तुमने")
BROTHER = spellings("bhai bhaiya भाई भैया")
MINE = spellings("mera mere meri my bada bade chota chote मेरा मेरे मेरी")
BESIDE_A_PERSON = spellings("ko ne se ka ke ki will dega hi को ने से का के की देगा")

# Calls: what is asked for, and what rules it out.
WHY = spellings("why kyon kyu kyun kyo क्यों क्यूं")
CALLING = spellings(
    "call calls calling called callback phone phoning fon ring ringing baat contact contacting disturb bother message "
    "messages msg कॉल फोन बात मैसेज"
)
FORBIDDING = spellings("mat don't dont never मत")
AT_PRESENT = spellings("now abhi filhal filhaal currently अभी फिलहाल")
EXCEPT = spellings("except chhod chod chhodkar alawa siwa")
STOPPING = spellings("stop band bandh बंद")
