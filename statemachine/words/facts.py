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
POSSESSIVES = word_set(
    """
    my our mera meri mere hamara hamari hamare humara humari humare apna apni apne मेरा मेरी मेरे हमारा हमारी
    हमारे अपना अपनी अपने
    """
)
OF = word_set("s ka ki ke ko ne का की के को ने")
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
