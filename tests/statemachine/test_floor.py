"""What the floor grants and refuses, in the cases people will ask about; the proof of all of them stands beside."""

from dataclasses import replace

import pytest

from channels import CHANNELS
from statemachine.floor import RULES, Grant, floor_table, judge
from statemachine.journey import Standing
from tests.statemachine.standings import standing

VOICE = CHANNELS["voice"].flow
WHATSAPP = CHANNELS["whatsapp"].flow

NEGOTIATING = standing(informed=True)
PROPOSED = standing(informed=True, rung="proposed", promise_stands=True)
CONFIRMED = replace(PROPOSED, rung="confirmed")
LINKED = replace(CONFIRMED, reminded=True, payment_link_shared=True)
UNVERIFIED = replace(PROPOSED, identity_holds=False)
PAID = standing(informed=True, rung="confirmed", closed=True)


def rules(grant: Grant) -> list[str]:
    return [refusal.rule for refusal in grant.refusals]


def test_the_rules_stand_in_their_order() -> None:
    assert [rule.__name__ for rule in RULES] == [
        "unknown_state",
        "closed_state",
        "identity_required",
        "too_far_ahead",
        "on_hold",
    ]


@pytest.mark.parametrize(
    ("known", "proposal", "state", "refused"),
    [
        (PROPOSED, "confirmation", "confirmation", []),
        (PROPOSED, "reminder", "reminder", []),
        (PROPOSED, "payment_link", "confirmation", ["too_far_ahead"]),
        (PROPOSED, "closing", "confirmation", ["too_far_ahead"]),
        (PROPOSED, "closed", "confirmation", ["closed_state", "too_far_ahead"]),
        (PROPOSED, "dues", "dues", []),
        (PROPOSED, "negotiation", "negotiation", []),
        (PROPOSED, "opening", "opening", []),
        (PROPOSED, "identity", "identity", []),
        (PROPOSED, " Confirmation ", "confirmation", []),
        (PROPOSED, "PAYMENT_LINK_SENDING", "confirmation", ["unknown_state"]),
        (PROPOSED, "", "confirmation", ["unknown_state"]),
        (NEGOTIATING, "confirmation", "confirmation", []),
        (NEGOTIATING, "reminder", "negotiation", ["too_far_ahead"]),
        (NEGOTIATING, "payment_link", "negotiation", ["too_far_ahead"]),
        (CONFIRMED, "confirmation", "reminder", ["closed_state"]),
        (LINKED, "closing", "closing", []),
        (LINKED, "closed", "closing", ["closed_state"]),
        (LINKED, "payment_link", "closing", ["closed_state"]),
        (LINKED, "reminder", "closing", ["closed_state"]),
        (replace(CONFIRMED, payment_link_shared=True), "closing", "closing", []),
        (UNVERIFIED, "payment_link", "identity", ["identity_required", "too_far_ahead"]),
        (UNVERIFIED, "dues", "identity", ["identity_required"]),
        (UNVERIFIED, "confirmation", "identity", ["identity_required"]),
        (UNVERIFIED, "opening", "opening", []),
        (UNVERIFIED, "identity", "identity", []),
        (replace(UNVERIFIED, contact_made=False), "identity", "identity", []),
        (replace(UNVERIFIED, contact_made=False), "closing", "opening", ["identity_required", "too_far_ahead"]),
        (PAID, "dues", "closing", ["closed_state"]),
        (PAID, "negotiation", "closing", ["closed_state"]),
        (PAID, "payment_link", "closing", ["closed_state"]),
        (PAID, "identity", "identity", []),
        (replace(PAID, identity_holds=False), "payment_link", "identity", ["closed_state", "identity_required"]),
    ],
)
def test_a_proposal_is_granted_or_the_memorys_own_place_is(
    known: Standing, proposal: str, state: str, refused: list[str]
) -> None:
    grant = judge(VOICE, known, proposal)
    assert (grant.state, rules(grant)) == (state, refused)
    assert grant.granted_proposal is (refused == [])
    found = VOICE.state(state)
    assert found is not None
    assert grant.step == found.step


def test_a_refusal_says_why_in_words_and_without_the_words_of_the_proposal() -> None:
    assert judge(VOICE, PROPOSED, "payment_link").refusals[0].message == "payment_link is 2 steps past confirmation"
    assert judge(VOICE, PAID, "dues").refusals[0].message == "dues asks for money and the cycle is not open"
    [unknown] = judge(VOICE, PROPOSED, "call 9000000001 now").refusals
    assert unknown.message == "the voice flow has no state of that name"


def test_without_a_proposal_the_position_is_granted_and_nothing_is_refused() -> None:
    assert judge(WHATSAPP, PROPOSED, None) == Grant("reminder", "remind", "reminder", None, False, ())


def test_after_identity_is_told_exactly_while_identity_does_not_hold() -> None:
    assert judge(VOICE, UNVERIFIED, None).after_identity == "confirmation"
    assert judge(VOICE, replace(UNVERIFIED, on_hold=True), None).after_identity == "confirmation"
    assert judge(VOICE, replace(UNVERIFIED, contact_made=False), "opening").after_identity == "confirmation"
    assert judge(VOICE, PROPOSED, None).after_identity is None


@pytest.mark.parametrize("outbound", [True, False])
def test_under_a_hold_nothing_is_granted_in_either_direction_and_the_position_is_told(outbound: bool) -> None:
    held = replace(PROPOSED, on_hold=True, outbound=outbound)
    for proposal in (None, "confirmation", "opening"):
        grant = judge(VOICE, held, proposal)
        assert (grant.state, grant.step, grant.position, rules(grant)) == (None, None, "confirmation", ["on_hold"])
        assert not grant.granted_proposal


def test_a_hold_is_told_beside_whatever_else_was_wrong() -> None:
    held = replace(UNVERIFIED, on_hold=True)
    assert rules(judge(VOICE, held, "closed")) == ["closed_state", "identity_required", "too_far_ahead", "on_hold"]
    assert rules(judge(VOICE, held, "nonsense")) == ["unknown_state", "on_hold"]


def test_an_opt_out_stops_our_calls_and_not_theirs() -> None:
    opted_out = replace(PROPOSED, opted_out=True)
    out = judge(VOICE, replace(opted_out, outbound=True), None)
    assert (out.state, rules(out)) == (None, ["on_hold"])
    assert judge(VOICE, opted_out, None).state == "confirmation"


def test_what_is_sent_on_one_channel_is_not_proposed_again_on_another() -> None:
    for flow in (VOICE, WHATSAPP):
        assert rules(judge(flow, LINKED, "payment_link")) == ["closed_state"]


def test_the_table_of_the_floor_reads_as_people_expect() -> None:
    lines = floor_table(WHATSAPP)
    rows = {line.split("  ")[0]: line.split()[len(line.split("  ")[0].split()) :] for line in lines if line}
    assert lines[0].split() == ["position", *WHATSAPP.names]
    assert rows["reminder"] == ["yes", "yes", "yes", "yes", "yes", "4", "2", "4"]
    assert rows["closing (cycle closed)"] == ["yes", "yes", "2", "2", "2", "yes", "2"]
    assert rows["closing (on hold)"][:3] == ["5", "5", "5"]
    legend = "refused by: 1 unknown_state, 2 closed_state, 3 identity_required, 4 too_far_ahead, 5 on_hold"
    assert lines[-1] == legend
    assert len(lines) == len(WHATSAPP.states) - 1 + 5
    assert all(len(line) <= 120 for flow in (VOICE, WHATSAPP) for line in floor_table(flow))
