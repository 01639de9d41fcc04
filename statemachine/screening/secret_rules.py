"""Sentences that repeat what proves who somebody is or where their money lies: a one-time code, a card, an Aadhaar, a PAN, a
bank account. Whoever said it; the number of a loan is an id of ours and none of these."""

from statemachine.screening.patterns import ID, LARGE, finds, needs_of, pattern
from statemachine.screening.reading import Own, glance_at
from statemachine.screening.rule import Rule
from statemachine.screening.sentences import Sentence

_TOLD = r"(?:(?:is|was|number|no|code|card|the|of|:|hai|-) ){0,3}"
_CODES = "otp pin mpin cvv cvc passcode password"
_PAPERS = "aadhaar aadhar adhaar adhar आधार"
_BANKS = "bank savings saving salary"
_SECRETS = (
    pattern(rf"(?:{'|'.join(_CODES.split())}) {_TOLD}(?:{LARGE}|{ID})", _CODES, f"{LARGE} {ID}"),
    pattern(rf"(?:{'|'.join(_PAPERS.split())}) {_TOLD}(?:{LARGE}|{ID})", _PAPERS, f"{LARGE} {ID}"),
    pattern(rf"pan {_TOLD}{ID}", "pan", ID),
    pattern(
        rf"(?:bank|savings|saving|salary) (?:(?:account|a|c|ac|khata|no|number|is|was|hai|[.:]) ){{0,5}}{ID}",
        _BANKS,
        ID,
    ),
    pattern(rf"ifsc {_TOLD}{ID}", "ifsc", ID),
    pattern(rf"card {_TOLD}(?:{LARGE} {LARGE} {LARGE}|{ID})", "card", f"{LARGE} {ID}"),
)


def _is_secret(own: Own, sentence: Sentence) -> bool:
    """A code or a number by which somebody else could pass for her; that she said it herself makes it no better."""
    return finds(_SECRETS, " " + " ".join(glance_at(sentence.text).marked) + " ", own.held)


SECRET = Rule(
    "secret",
    2,
    _is_secret,
    needs_of(_SECRETS),
    passes=(
        "Identity verified by OTP on 20 Nov.",
        "She did not get the OTP and asked for another.",
        "Her card has not arrived.",
        "She will bring her Aadhaar on the 5th.",
        "She lives near the PAN shop, house 12.",
        "She asked for the number of the bank account to pay into.",
        "Called about loan account number 700123456.",
        "She pays from her salary account.",
    ),
    fails=(
        "OTP is 482913.",
        "She said her OTP is 4821.",
        "Card number 4111 1111 1111 1111.",
        "Her Aadhaar is 1234 5678 9012.",
        "PAN ABCDE1234F",
        "CVV: 123",
        "UPI PIN 4321 hai.",
        "Bank a/c no. 001234567890, to be used for the refund.",
        "She said her savings account number is 50100123456789.",
        "Uska bank khata 50100123456789 hai.",
        "IFSC HDFC0001234",
    ),
)
