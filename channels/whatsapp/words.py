"""Choices that mean something by themselves in a chat: a button's id, a picture's caption (VENDORS B, D.5).

What a button stands for is read from its id and never from its title, which is translated. Data and two functions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Final

from channels import said

_PAY_ON: Final = re.compile(r"(?:pay|promise|ptp)(?:_on|_by)?[_-](\d{4}-\d{2}-\d{2})", re.ASCII | re.IGNORECASE)
REASONS: Final = {
    "job_loss": "INABILITY_JOB_LOSS",
    "lost_job": "INABILITY_JOB_LOSS",
    "medical": "INABILITY_MEDICAL",
    "salary_delay": "INABILITY_SALARY_DELAY",
    "salary_late": "INABILITY_SALARY_DELAY",
    "temporary_distress": "INABILITY_TEMPORARY",
    "other": "INABILITY_OTHER",
}
CHOICES: Final = {
    "already_paid": "PAID_CLAIMED",
    "paid": "PAID_CLAIMED",
    "i_have_paid": "PAID_CLAIMED",
    "call_me": "CALLBACK",
    "callback": "CALLBACK",
    "call_back": "CALLBACK",
    "dispute": "DISPUTE",
    "not_mine": "WRONG_NUMBER",
    "wrong_number": "WRONG_NUMBER",
    "refuse": "RTP",
}


@dataclass(frozen=True, slots=True)
class Choice:
    """What a button stands for, by the table above; nothing of an id that is not in it."""

    disposition: str | None = None
    due_date: date | None = None


def choice(id_: str | None) -> Choice:
    """What was chosen, by the id of the button or row."""
    if not id_:
        return Choice()
    name = id_.strip().casefold().replace("-", "_").replace(" ", "_")
    if found := _PAY_ON.fullmatch(id_.strip()):
        try:
            return Choice("PTP", date.fromisoformat(found[1]))
        except ValueError:
            return Choice("PTP")
    if name.startswith("reason_"):
        return Choice(REASONS.get(name.removeprefix("reason_"), "INABILITY_OTHER"))
    return Choice(CHOICES.get(name))


def caption(text: str | None) -> str | None:
    """What a picture's caption stands for: "Paid, screenshot" is a claim, never a payment."""
    return "PAID_CLAIMED" if text and len(text) <= 500 and said.in_past_tense(text) else None
