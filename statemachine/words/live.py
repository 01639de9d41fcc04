"""What is true only when it is read: dues, payments, steps, standings."""

from statemachine.words.comparing import Phrases, word_set

CURRENCIES = word_set("rs inr rupees rupee rupaye rupay रुपये रुपए रु")
SCALES = word_set(
    "thousand hundred lakh lakhs lac lacs crore crores hazaar hazar hajar sau million हज़ार हजार लाख करोड़ सौ k"
)
COUNTS = word_set(
    """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety ek teen char chaar paanch panch chhe chah saat aath nau
    das dus gyarah barah baarah pandrah bees pachees pachas pachaas एक दो तीन चार पाँच पांच छह सात आठ नौ दस बारह पंद्रह बीस
    पच्चीस पचास
    """
)
DO = word_set("do दो")
MONTHS = word_set(
    """
    january february march april may june july august september october november december jan feb mar apr jun jul aug sep
    sept oct nov dec जनवरी फरवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्टूबर नवंबर दिसंबर
    """
)
BALANCES = Phrases(
    """
    balance, balances, bal, od, debt, short by, shortfall, ledger reads, ledger shows, system shows,
    account shows, portal shows, app shows, statement shows, crm shows, records show, record shows, due to pay,
    due to be paid, has to arrange, needs to arrange, must arrange, o s, os, pos, remains, is left, are left,
    left with, still to go, outstanding, outstandings, overdue, arrears, dues, due, owed, owes, owe, owing,
    payable, payoff, pay off amount, preclosure, pre closure,
    principal, remaining, remainder, unpaid, foreclosure, penalty, penalties, late fee, late fees,
    late charges, charges, interest, total, limit, left to pay, still left, amount left, pending, to be paid,
    has to pay, have to pay, needs to pay, need to pay, must pay, baaki, baki, bakaya, bakaaya, shesh, bacha hai,
    bache hai, bache hain, dena hai, dene hai, dene hain, bharna hai, bharne hain, chukana hai, बाकी, बाक़ी,
    बकाया, शेष, बैलेंस, देना है, देने हैं, भरना है
    """
)
NO_BALANCES = Phrases("due to, due date, due dates, in total agreement")
# An amount beside one of these, apart from a balance, is what somebody plans to pay.
PLANS = word_set(
    """
    pay paying pays payment transfer deposit promise promised promises agreed commit commits committed proposed proposes
    offered degi dega denge dunga dungi देगी देगा दूँगी दूँगा दूंगी दूंगा
    """
)
# An amount beside one of these is not the loan's.
OTHER_MONEY = word_set(
    """
    salary income earns earning earnings rent fees fee school hospital medical wages pension bonus commission business
    sales treatment wedding
    """
)
INCOMES = word_set(
    """
    salary salaries wages wage pension stipend bonus commission income employer company office boss client clients vendor
    tenant tankhwah tankha vetan तनख्वाह वेतन सैलरी
    """
)
BARE_FILL = word_set(
    """
    only approx approximately about total as of today now is was it hai rs inr rupees rupee the amount figure sum and
    ondate anid this that her his
    """
)
# A line that ends with one of these goes on in the next.
OPEN_ENDS = word_set(
    """
    is are was were of at to the a an and or for her his with has have had in on by from about that rs inr amount balance
    outstanding due dues overdue pending total owes baaki baki bakaya hai ka ki ke बाकी बकाया है का की के
    """
)
LOANS = "loan loans account accounts card cards case cases"
DUES = (
    "emi emis installment installments instalment instalments kist kisht kists kishte kishtein dues bill bills payment "
    "payments ईएमआई किस्त किस्तें किश्त भुगतान"
)
MONEY = "amount amounts money funds sum paise paisa rakam rupees rupaye balance पैसे पैसा"
UNPAID = "pending overdue unpaid baaki baki bakaya bakaaya बाकी बाक़ी बकाया पेंडिंग"
BE = "is are was were has have had been being be remains remain still also now currently already yet all both s stands stand"
HINDI_BE = "hai hain h he tha thi है हैं था थी"
STEPS = "send submit upload provide share complete sign furnish update pay clear deposit transfer register activate"
STEPS_DONE = (
    "sent submitted uploaded provided shared completed signed furnished updated paid cleared deposited transferred "
    "registered activated"
)
PAPERS = (
    "receipt receipts document documents kyc proof statement form forms screenshot mandate signature noc pan aadhaar "
    "payment confirmation utr"
)
PRIVATE_COSTS = "fees fee rent school college tuition hospital medical electricity doctor"
HELD = "held locked blocked restricted frozen reserved earmarked withheld block lock freeze ब्लॉक होल्ड"
CLEAR = (
    "clear cleared closed settled regular irregular npa delinquent inactive active standard current defaulted nil zero "
    "foreclosed"
)
TIME_UNITS = "day days din week weeks hafte month months mahina mahine mahino दिन हफ्ते महीने"
LATE = "overdue late behind delayed delinquent dpd deri delay due pending baaki baki bakaya देरी"
DONE_HINDI = (
    "ho gaya,ho gayi,ho gaye,ho gai,ho chuka,ho chuki,kar diya,kar di,kar diye,kar chuka,kar chuki,de diya,de di,de diye,"
    "bhar diya,bhar di,bhar diye,jama kar,jama ho,jama kiya,chuka diya,chuka di,bhej diya,bhej diye,mil gaya,mil gayi,"
    "mil chuka,kiya hai,bhara hai,diya hai,हो गया,हो गई,हो चुका,कर दिया,दे दिया,भर दिया,जमा कर,चुका दिया,मिल गया"
)
NOT_A_PAYMENT = (
    "link links reminder reminders request schedule options option details receipt message plan date promise "
    "arrangement commitment method mode history baat लिंक बात"
)
