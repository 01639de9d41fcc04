"""Money: currencies, and the words that stand beside a sum."""

from __future__ import annotations

from channels.said.words.spelling import spellings, table_of
from statemachine.money import CURRENCIES as CODES

# Codes that somebody may write beside a number and mean a word: "all 500", "2 lak", "5 mnt", "btn 5 and 6".
CODES_THAT_ARE_WORDS = frozenset("ALL ANG BAM BOB BTN CUP GEL LAK MAD MNT MOP MUR NAD PEN RON SOS TOP TRY".split())
# Every other code is that currency; beside the codes, what else names one.
CURRENCIES: dict[str, str] = table_of(
    *((code, code.lower()) for code in sorted(CODES - CODES_THAT_ARE_WORDS)),
    ("INR", "₹ rs re rupee rupees rup(a)y[a|e|ee] rup(a)iy[a|e] rupay rupye rupya rupaiah rupyee"),
    ("INR", "रु रू रुपये रुपए रुपया रुपयों रूपये रूपए रूपया रुपीज"),
    ("NGN", "₦ naira nairas"),
    ("USD", "$ dollar dollars डॉलर"),
    ("EUR", "€ euro euros"),
    ("GBP", "£ pound pounds quid"),
    ("JPY", "¥ yen"),
    ("CNY", "rmb yuan renminbi"),
    ("BDT", "৳ taka"),
    ("PHP", "₱"),
    ("THB", "฿ baht"),
    ("VND", "₫ dong"),
    ("TRY", "₺ lira"),
    ("RUB", "₽ ro(u)ble ro(u)bles ruble rubles"),
    ("KRW", "₩"),
    ("ILS", "₪ shekel shekels"),
    ("GHS", "₵ cedi cedis"),
    ("KES", "ksh kshs"),
    ("TZS", "tsh tshs"),
    ("UGX", "ush ushs"),
    ("ETB", "birr"),
    ("ZMW", "kwacha"),
    ("ZAR", "rand rands"),
    ("AED", "dirham dirhams"),
    ("SAR", "riyal riyals"),
    ("IDR", "rp rupiah"),
    ("MYR", "rm ringgit"),
    ("BRL", "reais"),
    ("UAH", "₴ hryvnia"),
    ("KZT", "₸ tenge"),
    ("AZN", "₼"),
    ("GEL", "₾"),
    ("CRC", "₡"),
    ("PYG", "₲"),
    ("LAK", "₭"),
    ("KHR", "៛"),
    ("MNT", "₮"),
    ("PLN", "zloty zlotys"),
)
BEFORE_A_DOLLAR: dict[str, str] = {
    "us": "USD", "r": "BRL", "a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "s": "SGD", "sg": "SGD",
    "hk": "HKD", "nz": "NZD", "mx": "MXN", "nt": "TWD",
}  # fmt: skip
MONEY_WITHOUT_A_CURRENCY = spellings("only matra bucks peso pesos मात्र")
PAISE = spellings("paise paisa पैसे पैसा")
# Beside these a small bare number is money: "50 de dunga", "sirf 50".
BESIDE_MONEY = spellings(
    "de dunga dungi doonga denge dedunga deta deti dedo bhej kar karunga karungi bhar bharunga pay paying paid send give "
    "giving transfer deposit only sirf bas just amount दे दूंगा दूंगी देंगे भेज कर भर केवल सिर्फ बस"
)
PERCENT = spellings("% percent percentage pct pratishat fisdi feesdi प्रतिशत फीसदी परसेंट")

# Sums that people tell of and do not promise; and what says outright that this is what it comes to.
TOLD_SUMS = spellings(
    "penalty penalties fee fees charges interest byaj byaaj rent kiraya surcharge पेनल्टी जुर्माना फीस चार्ज ब्याज किराया"
)
BORROWED = spellings("loan loans karz[a|] karj[a|] udha(a)r लोन कर्ज कर्ज़ उधार")
OF_A_CHARGE = spellings("late bounce penal monthly extra लेट बाउंस")
EARNS = spellings("earn earns earning expecting expect kamata kamati kamate कमाता कमाती")
IT_IS = spellings("is was hai h hain tha thi है हैं था थी")
IT_IS_BEHIND = IT_IS | spellings(
    "the kyun kyu kyon why galat wrong hata hatao hatado maaf lag laga lagi lagaya lagayi lagata aati "
    "aata milti milta hoti क्यों गलत हटा माफ लगा लगाया आती मिलती"
)
# What was spent, and what is to be let off: "50000 lag gaye", "2000 kam karo".
SPENT = spellings("kharch kharcha kharche spent lage खर्च खर्चा लगे")
CAME_TO_BE_SPENT = spellings("lag लग")
LET_OFF = spellings("kam maaf maf discount waive waived waiver chhod chod off कम माफ छोड़ डिस्काउंट")
WITHOUT = spellings("without bina bagair minus बिना बगैर")

# What may be counted without being money.
COUNTED = spellings(
    "emi emis emi's kist kisht kiste kishte kisten kishten kistein installment installments instalment instalments loan "
    "loans ba(a)r dafa time times log logon people person persons bachche bache kids children member members part parts "
    "hissa hisse tukde option options points calls messages questions numbers wheeler gadi gaadi km kms kg meter metre "
    "unit units year years yr yrs sa(a)l baras bank banks account accounts card cards app apps cheque cheques bounce x "
    "digit digits "
    "किस्त किस्तें ईएमआई बार लोग लोन बच्चे हिस्से साल पार्ट इंस्टॉलमेंट"
)
TIMES_IN_HINDI = spellings("ba(a)r dafa बार")
COUNTED_IN_HUNDREDS = spellings(
    "ba(a)r dafa time times log logon people person persons km kms kg meter metre unit units year years sa(a)l calls messages "
    "बार लोग साल"
)
# "10th pass", "3rd party", "2nd notice": an ordinal before these is no day.
NOUNS_COUNTED_IN_ORDER = spellings("party floor hand class pass standard phase half one reminder notice attempt")
# The number after these names something: an account, a flat, a section of law.
NAMED_BY_NUMBER = spellings(
    "account acct acc ac a/c lan otp pin pincode cibil score dpd ipc crpc digit digits ank dhara "
    "code cif utr rrn ref reference txn aadhaar aadhar adhar id ids number num flat sector wing tower train "
    "room section house plot vehicle invoice ticket docket order khata खाता नंबर पिन ओटीपी"
)
# ... and after these, if "no", "number" or the like stands between.
NAMED_BY_LINKED_NUMBER = spellings(
    "complaint notice fir agreement application bill cheque receipt cif cust customer "
    "loan card policy phone mobile mob whatsapp contact bus train gate ward block case transaction bank"
)
# "482913 is the OTP", "100 number", "45 dpd": the number before them is named by these.
NAMES_WHAT_STANDS_BEFORE = spellings("otp pin pincode dpd number num ओटीपी पिन नंबर")
BEFORE_SUCH_A_NAME = spellings("is hai mera meri my ye yeh the ka aaya aayi mila था है मेरा मेरी आया")
# "otp bataun 991122?": a bare number in such a text is the code.
CODES_TOLD = spellings("otp code pincode ओटीपी")
# "400053 me rehta hu", "1930 pe complaint": where somebody lives, and what is called.
ON_IT = spellings("in me mein m pe par on में पे पर")
LIVES_OR_CALLS = spellings("rehta rehti rehte live lives call complaint baat phone message msg रहता रहती रहते कॉल फोन")
CASES = spellings("case notice section dhara kalam केस धारा")
NAME_ANY_NUMBER = spellings("# number num id नंबर")
LINK_NAME_AND_NUMBER = spellings("no number num id ending # नंबर")
BETWEEN_NAME_AND_NUMBER = LINK_NAME_AND_NUMBER | spellings("is are ka ki hai with in last . : -")
