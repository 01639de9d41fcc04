"""The document of the calls is a client's contract: a client that is generated from it, by a generator of the index, works.

Generated anew in each run, from what a running service hands out, and then used for one borrower's week: nothing is posted or
read here by hand.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any

import pytest

from tests.together.conftest import Borrower, Tenant, another, day

pytestmark = pytest.mark.process

PACKAGE = "generated_memory_client"
GENERATOR_SECONDS = 120


class Generated:
    """The package, by the tag and the operation id of each call."""

    def __init__(self, tenant: Tenant) -> None:
        self.models = import_module(f"{PACKAGE}.models")
        module = import_module(f"{PACKAGE}.client")
        self.client = module.AuthenticatedClient(
            base_url=tenant.service.url, token=tenant.key, raise_on_unexpected_status=True
        )
        self.stranger = module.AuthenticatedClient(base_url=tenant.service.url, token="bm_none_at_all")

    def call(self, tag: str, operation: str, *path: str, client: Any = None, **given: Any) -> Any:
        """What is answered, as a model of the client's own."""
        module = import_module(f"{PACKAGE}.api.{tag}.{operation}")
        return module.sync(*path, client=client or self.client, **given)


@pytest.fixture(scope="module")
def generated(acme: Tenant, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Generated]:
    folder = tmp_path_factory.mktemp("client")
    (folder / "config.yaml").write_text("post_hooks: []\n")
    words = ["generate", "--url", f"{acme.service.url}/openapi.json", "--output-path", str(folder / PACKAGE)]
    made = subprocess.run(
        [sys.executable, "-m", "openapi_python_client", *words, "--meta", "none", "--fail-on-warning",
         "--config", str(folder / "config.yaml")],
        capture_output=True, text=True, timeout=GENERATOR_SECONDS, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    sys.path.insert(0, str(folder))
    with contextlib.ExitStack() as left:
        left.callback(sys.path.remove, str(folder))
        yield Generated(acme)


def past(**span: float) -> datetime:
    return datetime.now(UTC) - timedelta(**span)


def document(tenant: Tenant) -> dict[str, Any]:
    told: dict[str, Any] = tenant.get("/openapi.json")
    return told


def test_a_borrowers_week_through_the_generated_client(generated: Generated, borrower: Borrower) -> None:
    models = generated.models
    phone = models.Identifier(kind="phone", value=borrower.number)
    for body in (
        models.CycleOpened(
            type_="cycle.opened", event_id=f"e-{another()}", occurred_at=past(days=9), borrower_id=borrower.id,
            cycle_id="CY-1", loan_id="LN-1", due_date=date.fromisoformat(day(5)), amount_due="12500.00", currency="INR",
        ),
        models.IdentifierLinked(
            type_="identifier.linked", event_id=f"e-{another()}", occurred_at=past(days=9), borrower_id=borrower.id,
            identifier=phone,
        ),
        models.IdentityVerified(
            type_="identity.verified", event_id=f"e-{another()}", occurred_at=past(hours=3), identifier=phone,
            method="otp", channel=models.IdentityVerifiedChannelType0.WHATSAPP,
        ),
    ):  # fmt: skip
        written = generated.call("events", "post_event", body=body)
        assert (type(written), written.status, written.borrower_id) == (models.Written, "merged", borrower.id)
    promise = models.Commitment(amount="5000", due_date=day(4), status=models.CommitmentStatusType0.PROPOSED)
    summary = models.Summary(
        channel=models.SummaryChannel.WHATSAPP, conversation_id=f"c-{another()}", ended_at=past(hours=2),
        identifier=phone, outcome="connected", commitment=promise,
        facts=[models.Fact(kind="preferred_language", text="always Hindi", confidence=0.9)],
    )  # fmt: skip
    written = generated.call("summaries", "post_summary", body=summary)
    assert (written.status, written.record_version) == ("merged", 4)

    asked = models.ResumeRequest(channel=models.ResumeRequestChannel.VOICE, identifier=phone)
    answer = generated.call("resume", "resume", body=asked)
    assert type(answer) is models.Resumed
    assert (answer.state, answer.identity.holds, answer.record_version) == ("confirmation", True, 4)
    assert (answer.commitment.amount, answer.commitment.due_date.isoformat()) == ("5000.00", day(4))
    assert answer.vars_.promise_status.value == "proposed"
    assert answer.as_of.tzinfo is not None

    permit = models.PermitRequest(
        action="reminder", channel=models.PermitRequestChannel.WHATSAPP, holder=f"run-{another()}"
    )
    taken = generated.call("permits", "take_permit", borrower.id, body=permit)
    assert (type(taken), taken.loan_id) == (models.Permit, "LN-1")
    assert generated.call("permits", "take_permit", borrower.id, body=permit) == taken
    flags = generated.call("borrowers", "get_flags", borrower.id, loan_id="LN-1")
    assert (flags.reminded.value, flags.reminded.evidence, flags.attempt) == (False, None, 1)
    assert generated.call("borrowers", "get_briefing", borrower.id).text == borrower.briefing()
    facts = generated.call("borrowers", "get_facts", borrower.id).items
    assert [(fact.kind, fact.text) for fact in facts] == [("preferred_language", "always Hindi")]
    found = generated.call("borrowers", "lookup", body=models.Lookup(identifier=phone))
    assert (found.borrower_id, found.provisional) == (borrower.id, False)
    whole = generated.call("borrowers", "get_borrower", borrower.id)
    assert whole["stage"] == "committed", "what has no shape of its own is an object"


def test_a_refusal_is_a_problem_with_its_code(generated: Generated, borrower: Borrower) -> None:
    models = generated.models
    unknown = generated.call("borrowers", "get_flags", "B-nobody")
    assert (type(unknown), unknown.status, unknown.code) == (models.Problem, 404, "unknown_borrower")
    asked = models.ResumeRequest(channel=models.ResumeRequestChannel.VOICE, wait_ms=9_999)
    wrong = generated.call("resume", "resume", body=asked)
    assert (wrong.code, [(e.field, e.code) for e in wrong.errors]) == ("invalid_body", [("wait_ms", "wrong_type")])
    turned_away = generated.call("resume", "resume", client=generated.stranger, body=asked)
    assert (turned_away.status, turned_away.code) == (401, "unauthenticated")
    borrower.says()
    borrower.event("hold.placed", kind="dispute", reason="says it is not theirs")
    permit = models.PermitRequest(action="reminder", channel=models.PermitRequestChannel.VOICE, holder="run")
    refused = generated.call("permits", "take_permit", borrower.id, body=permit)
    assert (refused.code, refused["reason"]) == ("permit_refused", "hold")


def test_every_call_has_a_name_of_its_own_and_every_body_an_example_that_is_taken(acme: Tenant) -> None:
    told = document(acme)
    names = [call["operationId"] for calls in told["paths"].values() for call in calls.values()]
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() for name in names)
    tried = 0
    for path, calls in told["paths"].items():
        for method, call in calls.items():
            assert call["summary"], path
            if "requestBody" not in call:
                continue
            examples = call["requestBody"]["content"]["application/json"].get("examples")
            assert examples, f"{call['operationId']} has no example"
            for example in examples.values():
                where = path.format(**{p["name"]: "B-101" for p in call.get("parameters", [])})
                answer = acme.http.request(method, where, json=_anew(example["value"]))
                assert answer.status_code < 300 or answer.status_code in (404, 409), (path, answer.text)
                tried += 1
    assert tried >= 10


def _anew(example: Any) -> Any:
    """With event ids of its own."""
    made: Any = json.loads(json.dumps(example))
    for event in [made, *made.get("events", [])]:
        if "event_id" in event:
            event["event_id"] = f"e-{another()}"
    return made
