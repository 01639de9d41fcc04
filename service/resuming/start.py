"""Where the next conversation starts: who proposes it, what the floor gives, and the words of the answer (API 6).

    1 what stands: the gist of the record, and identity on the caller's identifier              (`Standing`)
    2 who proposes: the caller, a stored model's proposal, else the channel's rules              (`channels.classifier`)
    3 the floor disposes                                                                          (`statemachine.floor`)
    4 the answer, with a flat map of variables in which every key is always there                (`worded`)

Everything here is a pure function of what it is given. A cold start has the same form; it is what a caller gets who is not
known, whose memory may not be handed out, or whose memory cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal

import msgspec

from channels import CHANNELS
from channels.classifier import read_proposal, rules_propose
from service import strictjson
from service.chats.rows import Open
from service.narrative import CLOCK, told_at
from service.resuming.gist import ABSENT, Gist, members, yes
from statemachine.contact import Contact
from statemachine.floor import Grant, Refusal, judge
from statemachine.journey import Standing
from statemachine.state import NO_IDENTITY

By = Literal["caller", "model"]
Proposed = tuple[str | None, str | None]
"""What a model proposes: a state's text and None, or None and the reason of API 6 why there is none."""
NO_MODEL: Final[Proposed] = (None, "no_model")

LANGUAGE: Final = "en"
"""The language of our own templates."""
STARTS_KEPT: Final = 16_384


class Asked(msgspec.Struct, frozen=True):
    """A resume request after its borrower was found; `identifier` is `kind:canonical value`."""

    channel: str
    direction: str
    identifier: str | None
    loan_id: str | None
    proposal: Any


@dataclass(frozen=True, slots=True)
class Start:
    """Where a conversation starts, what was proposed and by whom, and why. Its bytes are members of the answer and of its
    variables."""

    state: str | None
    source: str
    position: str | None
    proposed: str | None
    proposed_by: str | None
    fallback: str | None
    refusals: tuple[Refusal, ...]
    members: bytes
    variables: bytes


def started(gist: Gist, asked: Asked, modelled: Proposed = NO_MODEL) -> Start:
    """By the caller's proposal if there is one, else by the model's (`modelled`), else by what the channel's rules propose
    (DESIGN 9). A caller's that cannot be read leaves the rules."""
    standing = standing_of(
        gist,
        asked.channel,
        identity_holds=asked.identifier in gist.identities,
        outbound=asked.direction == "outbound",
    )
    by: By = "caller"
    told: Proposed = read_proposal(asked.proposal)
    if told == (None, None):
        by, told = "model", modelled
    proposed, fallback = told
    if proposed is not None:
        flow = CHANNELS[asked.channel].flow
        named = flow.state(proposed)
        if named is not None:
            return _by_proposal(asked.channel, standing, named.name, by)
        return _start(judge(flow, standing, proposed), flow.spelled(proposed), by, None)
    return _by_rules(
        asked.channel,
        standing,
        gist.counter_proposal,
        gist.payment_claim,
        gist.dropped_step,
        fallback or "no_model",
    )


def standing_of(gist: Gist, channel: str, *, identity_holds: bool, outbound: bool) -> Standing:
    """What the walk and the floor read, of one borrower on one channel."""
    return Standing(
        identity_holds=identity_holds,
        contact_made=gist.contact_made,
        informed=gist.informed,
        rung=gist.rung,  # type: ignore[arg-type]
        promise_stands=gist.promise_stands,
        reminded=gist.reminded,
        payment_link_shared=gist.payment_link_shared,
        closed=gist.closed,
        on_hold=bool(gist.hold_ends),
        opted_out=channel in gist.opted_out,
        outbound=outbound,
    )


@lru_cache(maxsize=STARTS_KEPT)
def _by_proposal(channel: str, standing: Standing, state: str, by: By) -> Start:
    """Of a state of the flow, in its own spelling; the combinations are few."""
    return _start(judge(CHANNELS[channel].flow, standing, state), state, by, None)


@lru_cache(maxsize=STARTS_KEPT)
def _by_rules(
    channel: str,
    standing: Standing,
    counter_proposal: bool,
    payment_claim: bool,
    dropped_step: str | None,
    fallback: str,
) -> Start:
    """It depends on nothing else, and the combinations are few."""
    flow = CHANNELS[channel].flow
    dropped_at = next((s.name for s in flow.states if s.step == dropped_step), None) if dropped_step else None
    proposed = rules_propose(
        flow, standing, counter_proposal=counter_proposal, payment_claim=payment_claim, dropped_at=dropped_at
    )
    by = "rules" if proposed is not None else None
    return _start(judge(flow, standing, proposed), proposed, by, fallback)


def _start(grant: Grant, proposed: str | None, proposed_by: str | None, fallback: str | None) -> Start:
    return _worded_start(
        state=grant.state,
        step=grant.step,
        after_identity=grant.after_identity,
        source="classifier" if grant.granted_proposal else "position",
        position=grant.position,
        proposed=proposed,
        proposed_by=proposed_by,
        fallback=fallback,
        refusals=grant.refusals,
    )


def cold(*refusals: Refusal) -> Start:
    """The opening, of which no memory knows anything."""
    return _worded_start(
        state="opening",
        step="greet",
        after_identity=None,
        source="cold_start",
        position=None,
        proposed=None,
        proposed_by=None,
        fallback=None,
        refusals=refusals,
    )


def _worded_start(
    *,
    state: str | None,
    step: str | None,
    after_identity: str | None,
    source: str,
    position: str | None,
    proposed: str | None,
    proposed_by: str | None,
    fallback: str | None,
    refusals: tuple[Refusal, ...],
) -> Start:
    told = {
        "state": state,
        "step": step,
        "after_identity": after_identity,
        "source": source,
        "position": position,
        "proposed": proposed,
        "proposed_by": proposed_by,
        "fallback": fallback,
        "refusals": refusals,
    }
    variables = {
        "state": state or ABSENT,
        "step": str(step or ABSENT),
        "after_identity": after_identity or ABSENT,
        "on_hold": yes(any(refusal.rule == "on_hold" for refusal in refusals)),
    }
    return Start(state, source, position, proposed, proposed_by, fallback, refusals, members(told), members(variables))


COLD: Final = cold()


# -- the answer -------------------------------------------------------------------------------------------------


def worded(
    gist: Gist,
    start: Start,
    asked: Asked,
    *,
    resume_id: str,
    contact: Contact,
    record_version: int | None,
    now: datetime,
    missing_after: timedelta,
    chats: Sequence[Open] = (),
    degraded_reason: str | None = None,
) -> bytes:
    """The answer of API 6, in JSON. `missing_after`: then a conversation that began is a report that is missing."""
    identity = gist.identities.get(asked.identifier) if asked.identifier is not None else None
    speakable = bool(gist.step) and (identity is not None or CHANNELS[asked.channel].modality == "text")
    step, variables = gist.step, gist.variables
    if _CLOCK in step:
        step, variables = (told_at(part.decode(), now, gist.time_zone).encode() for part in (step, variables))
    return _ANSWER % (
        strictjson.dump(resume_id),
        gist.who,
        start.members,
        identity or _NO_IDENTITY,
        gist.told,
        _open(gist, chats, now, missing_after) if gist.started or chats else b"[]",
        _STEP % (step, _JSON[speakable]) if step else b"null",
        _JSON[degraded_reason is not None],
        strictjson.dump(degraded_reason),
        strictjson.dump(contact),
        variables,
        start.variables,
        members(
            {
                "identity_verified": yes(identity is not None),
                "contact_allowed": yes(contact.allowed),
                "contact_reason": ", ".join(contact.reasons) or ABSENT,
                "language": LANGUAGE if step else ABSENT,
                "speakable": yes(speakable),
                "degraded": yes(degraded_reason is not None),
            }
        ),
        strictjson.dump(record_version),
        strictjson.dump(now),
    )


_ANSWER: Final = (
    b'{"resume_id":%s,%s,%s,"identity":%s,%s,"open_conversations":%s,"previous_step":%s,"degraded":%s,"degraded_reason":%s,'
    b'"contact":%s,"vars":{%s,%s,%s},"record_version":%s,"as_of":%s}'
)
_STEP: Final = b'{"text":%s,"language":"' + LANGUAGE.encode() + b'","speakable":%s}'
_JSON: Final = {True: b"true", False: b"false"}
_NO_IDENTITY: Final = strictjson.dump(NO_IDENTITY)
_CLOCK: Final = CLOCK.encode()


def _open(gist: Gist, chats: Sequence[Open], now: datetime, missing_after: timedelta) -> bytes:
    """Conversations that were begun and may still be going on, after a while they are reports that are missing; and chats
    that go on, or that are not summarised yet."""
    begun = {(channel, id_): at for channel, id_, at in gist.started if now - at < missing_after}
    told = [
        {
            "channel": chat.channel,
            "conversation_id": chat.conversation_id,
            "since": min(chat.since, begun.pop((chat.channel, chat.conversation_id), chat.since)),
            "last_message_at": chat.last_message_at,
            "last_speaker": chat.last_speaker,
        }
        for chat in chats
    ]
    told += [
        {"channel": channel, "conversation_id": id_, "since": at, "last_message_at": None, "last_speaker": None}
        for (channel, id_), at in begun.items()
    ]
    return strictjson.dump(told)
