"""The labels that agents and their models put on a conversation, brought to families (VENDORS D.1).

The map is total: a label that nobody knows is `other`, and is counted. A label never decides a promise; facts are read from
the fields. All that it may do here is told by `Family`: say that there was a claim of payment, or, where no promise was
captured, that it was not the borrower. Data and one function.
"""

from __future__ import annotations

import re
import unicodedata
from enum import StrEnum
from typing import Final


class Family(StrEnum):
    """What a label is about."""

    promise = "promise"
    broken = "broken"
    refusal = "refusal"
    inability = "inability"
    paid = "paid"
    later = "later"
    no_contact = "no_contact"
    third_party = "third_party"
    wrong_number = "wrong_number"
    hard_stop = "hard_stop"
    closed = "closed"
    other = "other"


LABELS: Final[dict[Family, str]] = {
    Family.promise: "ptp promise promise_to_pay promised_to_pay will_pay ptp_partial part_paid_ptp partial_promise payment_plan "
    "settlement_accepted link_sent agree_to_pay agreed_to_pay user_agrees_to_pay commitment committed",
    Family.broken: "bptp ptp_broken brpc broken_promise promise_broken",
    Family.refusal: "rtp refuse refused refused_to_pay refusal_to_pay wilful wilful_default wants_settlement disputes_amount "
    "did_not_borrow not_interested",
    Family.inability: "nip inability unable_to_pay job_loss lost_job medical temporary_distress financial_distress hardship "
    "reason_job_loss reason_medical reason_salary_delay salary_delay inability_job_loss inability_medical",
    Family.paid: "already_paid paid paid_claimed claims_paid claimed_payment user_claimed_payment user_claimed_payment_with_date "
    "pp part_paid paid_upi paid_bank paid_branch paid_link paid_via_upi",
    Family.later: "cb callbk callback call_back callback_requested call_later busy lang language language_barrier follow_up",
    Family.no_contact: "rnr na nc no_answer not_answered no_contact switched_off not_reachable voicemail vm lm left_message "
    "dropped call_dropped ringing_no_response silence",
    Family.third_party: "tpc third_party third_party_contact family_informed left_with_family",
    Family.wrong_number: "wn wrong_number wrong_party wrong_person not_the_borrower",
    Family.hard_stop: "dnd dnc do_not_call do_not_contact cease deceased dcd bankrupt bankruptcy insolvency attorney lawyer "
    "legal represented dispute ds disputed fraud fraud_claimed",
    Family.closed: "closed account_closed settled fully_settled",
}

_FAMILY: Final = {label: family for family, labels in LABELS.items() for label in labels.split()}
_BETWEEN: Final = re.compile(r"[\s\-./]+")


def folded(label: str) -> str:
    """`PTP - Partial` as `ptp_partial`."""
    return _BETWEEN.sub("_", unicodedata.normalize("NFKC", label).casefold().strip(" -./_")).replace("__", "_")


def family(label: str | None) -> Family | None:
    """The family of a label; none of none, `other` of one that nobody knows."""
    return _FAMILY.get(folded(label), Family.other) if label and label.strip() else None
