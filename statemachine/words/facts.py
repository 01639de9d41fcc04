"""Whom a fact is about, and whether it lasts."""

from statemachine.words.comparing import Phrases, word_set, words_of

THE_BORROWER = word_set("borrower customer client user self me caller")
FIRST_PERSON = word_set(
    """
    i im ive ill my mine me we our main mai maine mera meri mere mujhe mujhko muje hum ham humko hamara hamari
    hamare humara humari apna apni apne मैं मैंने मेरा मेरी मेरे मुझे हम हमारा हमारी हमारे अपना अपनी अपने
    """
)
THIRD_PERSON = word_set(
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
        "husband": "husband hubby pati shohar shauhar पति",
        "wife": "wife missus patni biwi bibi gharwali पत्नी बीवी घरवाली",
        "son": "son beta bete बेटा बेटे",
        "daughter": "daughter beti बेटी",
        "uncle": "uncle chacha mama tau चाचा मामा ताऊ",
        "aunt": "aunt aunty chachi mami bua mausi चाची मामी बुआ मौसी",
        "cousin": "cousin",
        "nephew": "nephew bhatija",
        "niece": "niece bhatiji",
        "father-in-law": "sasur sasurji ससुर",
        "mother-in-law": "saas sasu saasu sasuma सास",
        "brother-in-law": "jija jijaji saala devar jeth nandoi जीजा साला देवर जेठ",
        "sister-in-law": "bhabhi saali nanad devrani jethani भाभी साली ननद",
        "grandfather": "grandfather grandpa dada dadaji nana nanaji दादा नाना",
        "grandmother": "grandmother grandma dadi nani दादी नानी",
        "parents": "parents",
        "friend": "friend dost दोस्त",
        "roommate": "roommate flatmate",
        "landlord": "landlord landlady makanmalik makaanmalik",
        "guarantor": "guarantor jamanati",
        "fiance": "fiance fiancee mangetar boyfriend girlfriend",
        "neighbour": "neighbour neighbor padosi पड़ोसी",
        "partner": "partner",
        "colleague": "colleague",
    }.items()
    for word in words_of(group)
}
POSSESSIVES = word_set(
    """
    my our mera meri mere hamara hamari hamare humara humari humare apna apni apne मेरा मेरी मेरे हमारा हमारी
    हमारे अपना अपनी अपने
    """
)
OF = word_set("s ka ki ke ko ne का की के को ने")
IN_LAW = ("in", "law")
# Before one of `OF` these are "uski" and "unki" written apart.
THIRD_PERSON_APART = word_set("us un is in उस उन इस इन")
EARNINGS = word_set(
    """
    salary salaries sallery tankhwah tankhwa tankhah tankha tanakhwah vetan pagaar pagar pension wage wages income kamai
    stipend सैलरी तनख्वाह तनखा वेतन पगार पेंशन कमाई
    """
)
# What may stand before "ki salary" and is nobody: "company ki salary", "is mahine ki salary". Anything else may be a name.
NOBODYS_INCOME = word_set(
    """
    mahine maheene mahina month months week weeks hafte hafta fortnight tarikh tareekh taarikh date din day today saal year
    company companies office factory firm school college hospital hotel bank job jobs naukri kaam work dukaan dukan shop
    business dhandha mill farm kheti khet kiraye rent sarkar sarkari government govt army fauj railway police contract
    overtime it that there here what this last next first second end same full half new old age widow vidhwa the a
    महीने माह हफ्ते तारीख दिन कंपनी ऑफिस नौकरी काम दुकान सरकार खेती
    """
)
# It is not said to be so: "agar meri naukri hoti", "I wish I had a job".
SUPPOSED = Phrases("if, wish, suppose, imagine, agar, yadi, kaash, kash, maan lo, maan lijiye, अगर, यदि, काश, मान लो")
# A question that ends so says it all the same: "7 ko aati hai na?"
SAYING_TAGS = word_set("na naa right correct know ना न")
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
# A fact that says no in words of its own: "naukri nahi hai" may be told as "lost his job".
SAYING_NO = word_set(
    """
    lost left quit resigned fired laid sacked removed terminated jobless unemployed idle closed shut stopped retired former
    ended looking searching alone only sole single widow widower passed died dead death deceased late expired childless
    unmarried separated divorced absent stop stops hold holds pause pauses avoid avoids cancel defer postpone refrain against
    except instead rather dislikes uncomfortable band chhod chhut chhoot chali gayi बंद
    """
)
# It was so, or will be, and is not said to be so now.
ONCE_SO = Phrases(
    """
    used to, karta tha, karti thi, karte the, kiya karta tha, kiya karti thi, naukri thi, job thi, kaam tha, dukaan thi,
    pehle tha, pehle thi, formerly, previously, was working, had a job, had a shop, करता था, करती थी, नौकरी थी, काम था
    """
)
SOON_SO = Phrases(
    """
    will work, will join, will start, will be working, will get a job, going to work, going to join, going to start,
    join karunga, join karungi, join karne wala, join karne wali, kaam karunga, kaam karungi, naukri milegi, job milegi,
    naukri lagegi, job lagegi, काम करूंगा, काम करूंगी, नौकरी मिलेगी, नौकरी लगेगी
    """
)
SAYING_ONCE = word_set("was were worked had used former formerly previously earlier ex past before till until")
SAYING_SOON = word_set(
    "will going joins joining join starts starting start soon next from new upcoming expects hopes plans"
)
# With a denial behind it, "ever" is "never": "kabhi 6 baje se pehle call mat karo".
EVER = word_set("kabhi कभी")
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
