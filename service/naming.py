"""Who it is about: what a caller names, as one borrower (API 1, "Naming the borrower"; DESIGN 7).

An identifier that several borrowers share is a candidate, never proof. An unknown one is nobody to a reader; a writer's entry
is kept under a provisional borrower, whose id is a keyed hash and never the number. This file reads links and links nothing.
"""

from __future__ import annotations

from collections.abc import Container

import msgspec
from sqlalchemy import Connection

from channels.identifiers import InvalidIdentifier, aliases, canonical
from service import records
from service.errors import FieldError, InvalidBody
from service.intake.envelope import provisional_id
from service.policy import Policy
from service.secrets import Secrets
from statemachine.entries import Identifier
from statemachine.forgetting import hidden


class Called(msgspec.Struct, frozen=True):
    """What a caller named, its identifier in canonical form."""

    borrower_id: str | None
    identifier: Identifier | None
    loan_id: str | None

    @property
    def key(self) -> str | None:
        """The identifier as elements carry it: `kind:value`."""
        return f"{self.identifier.kind}:{self.identifier.value}" if self.identifier else None


class Named(msgspec.Struct, frozen=True):
    """One borrower, several candidates, or nobody that is known (then `provisional_id` is where a write is kept)."""

    borrower_id: str | None
    candidates: tuple[str, ...] = ()
    provisional_id: str | None = None
    warning: str | None = None
    """`identifier_mismatch` or `identifier_not_linked`."""


def called(borrower_id: str | None, identifier: Identifier | None, loan_id: str | None, policy: Policy) -> Called:
    """What is named, checked: raises `InvalidBody` for a number that cannot be one or is ours, and when nobody is named."""
    if borrower_id is None and identifier is None and loan_id is None:
        raise InvalidBody([FieldError("borrower_id", "missing")])
    return Called(borrower_id, identified(identifier, policy) if identifier else None, loan_id)


def identified(identifier: Identifier, policy: Policy, field: str = "identifier") -> Identifier:
    """The identifier in canonical form, never one of our own numbers."""
    try:
        value = canonical(identifier.kind, identifier.value, region=policy.region)
    except InvalidIdentifier:
        raise InvalidBody([FieldError(field, "invalid_identifier")]) from None
    if identifier.kind == "phone" and value in own_numbers(policy):
        raise InvalidBody([FieldError(field, "invalid_identifier")])
    return identifier if value == identifier.value else Identifier(kind=identifier.kind, value=value)


def own_numbers(policy: Policy) -> frozenset[str]:
    """Our own numbers in canonical form; one that cannot be a number guards nothing."""
    numbers = set()
    for number in policy.own_numbers:
        try:
            numbers.add(canonical("phone", number, region=policy.region))
        except InvalidIdentifier:
            continue
    return frozenset(numbers)


def find(conn: Connection, tenant: str, who: Called, secrets: Secrets) -> Named:
    """The borrower that is meant, by the table of API 1."""
    linked = _linked(conn, tenant, who.identifier, secrets) if who.identifier else ()
    if who.borrower_id is not None:
        borrower_id = records.resolve_id(conn, tenant, who.borrower_id)
        warning = None
        if who.identifier and borrower_id not in linked:
            warning = "identifier_mismatch" if linked else "identifier_not_linked"
        return Named(borrower_id, warning=warning)
    owners = records.owners_of_loan(conn, tenant, who.loan_id) if who.loan_id is not None else ()
    if who.identifier is not None:
        if len(linked) == 1:
            return Named(linked[0])
        if linked:
            having = [b for b in linked if b in owners]
            return Named(having[0]) if len(having) == 1 else Named(None, candidates=tuple(linked))
    if len(owners) == 1:
        return Named(owners[0], warning="identifier_not_linked" if who.identifier else None)
    if who.identifier is not None:
        return Named(None, provisional_id=provisional_id(secrets, who.identifier.kind, who.identifier.value))
    if owners:
        return Named(None, candidates=tuple(owners))
    return Named(None, provisional_id=provisional_id(secrets, "loan", who.loan_id or ""))


def _linked(conn: Connection, tenant: str, identifier: Identifier, secrets: Secrets) -> tuple[str, ...]:
    return tuple(records.borrowers_of(conn, tenant, identifier.kind, spellings(identifier, secrets)))


def spellings(identifier: Identifier, secrets: Secrets) -> tuple[str, ...]:
    """Every value under which an identifier in canonical form may be linked: its own spellings, and those by which somebody who
    was forgotten is still found (DESIGN 11)."""
    values = aliases(identifier.kind, identifier.value)
    return (*values, *(hidden_value(identifier.kind, value, secrets) for value in values))


def hidden_value(kind: str, value: str, secrets: Secrets) -> str:
    """As the record of somebody of whom everything was forgotten has it: never the number itself (API 10)."""
    return hidden(f"{kind}:{value}", lambda text: secrets.keyed_hash(text, "words")).partition(":")[2]


def is_hidden(value: str) -> bool:
    """Whether it is the keyed hash that is left of an identifier."""
    return value.startswith("~")


def hidden_as(value: str, identifier: Identifier, secrets: Secrets) -> Identifier | None:
    """The spelling of an identifier, in canonical form, whose keyed hash this is; None: it is another's."""
    for spelt in aliases(identifier.kind, identifier.value):
        if hidden_value(identifier.kind, spelt, secrets) == value:
            return Identifier(kind=identifier.kind, value=spelt)
    return None


def known_as(names: Container[str], who: Called, secrets: Secrets) -> str | None:
    """The identifier that was named, as a record with these names (`kind:value`) has it; None when none was named."""
    if who.identifier is None or who.key in names:
        return who.key
    name = f"{who.identifier.kind}:{hidden_value(who.identifier.kind, who.identifier.value, secrets)}"
    return name if name in names else who.key
