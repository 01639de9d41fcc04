"""The process itself: settings, exit codes, one `serve` on a store, restart, rebuild, and what its log never says (API 13)."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.together.conftest import Json, Tenant, confirmed, day, log_lines, promise, said
from tests.together.service import ALWAYS, Service, ago

pytestmark = pytest.mark.process

PLANTED_NUMBER = "9000012399"
PLANTED_WORDS = ("Quillfeather", "zephyrine", "marzipan")
"""A name, a word of a conversation and a reason: none of them may stand in a log."""

Done = subprocess.CompletedProcess[str]


# -- a store that outlives its process ----------------------------------------------------------------------------


def story(tenant: Tenant) -> list[str]:
    """A bit of everything: a borrower, a provisional one that is joined, one that stays so, a conflict, a permit."""
    one = tenant.borrower(id_="B-one", number="+91" + PLANTED_NUMBER)
    loan = "LN-one"
    one.opens(loan=loan)
    tenant.summary(identifier=one.phone, commitment=promise(700), ended_at=ago(hours=9), conversation_id="early")
    one.verify()
    one.says(
        "voice",
        confirmed(5000, quote="5000 de dunga"),
        conversation_id="k-1",
        summary=f"Asha {PLANTED_WORDS[0]} will pay 5,000.",
        turns=said("agent: So 5,000?", f"borrower: haan {PLANTED_WORDS[1]} 5000 de dunga"),
        ended_at=ago(hours=3),
    )
    one.says("whatsapp", promise(4000, day(8)), conversation_id="c-2", ended_at=ago(hours=2), revision=2)
    one.is_sent(message_id="m-1", event_id="r-1")
    one.pays("1500", "P-1", loan_id=loan, event_id="p-1")
    one.event("hold.placed", kind="dispute", reason=PLANTED_WORDS[2], event_id="h-1", loan_id="LN-two")
    one.says("voice", conversation_id="k-1", summary="other", ended_at=ago(hours=3), status=409)
    kept = tenant.summary(
        identifier={"kind": "email", "value": f"{PLANTED_WORDS[0]}@example.com"}, conversation_id="e-1"
    )
    one.permit("payment_link", loan_id=loan)
    return ["B-one", kept["borrower_id"]]


def mistakes(tenant: Tenant) -> None:
    """Wrong requests of many kinds, with what must not be written down in every place where it can stand."""
    one = tenant.borrower(id_="B-one")
    tenant.http.get(f"/v1/borrowers/{PLANTED_WORDS[0]}")
    tenant.http.get(f"/v1/{PLANTED_WORDS[0]}", params={"q": PLANTED_NUMBER})
    tenant.http.get("/v1/borrowers", params={"cursor": PLANTED_WORDS[1], PLANTED_WORDS[2]: PLANTED_NUMBER})
    tenant.raw("/v1/summaries", b'{"summary": "' + PLANTED_WORDS[0].encode() + b"\xff")
    one.says("voice", status=422, identifier={"kind": "phone", "value": f"+91{PLANTED_NUMBER}00"})
    one.pays(PLANTED_WORDS[1], status=422)
    tenant.resume(identifier={"kind": "phone", "value": f"0{PLANTED_NUMBER}"}, proposal={"state": PLANTED_WORDS[2]})


def everything_of(tenant: Tenant, ids: list[str]) -> str:
    """All that is answered about these borrowers, but for the time of the reading, which the texts tell as well."""
    answers: list[Json] = []
    for id_ in ids:
        one = tenant.borrower(id_=id_, number="+91" + PLANTED_NUMBER)
        resumed = one.resume()
        del resumed["resume_id"]
        answers += [resumed, *(one.read(what) for what in ("", "flags", "briefing", "facts", "timeline"))]
    answers += [tenant.get("/v1/borrowers", limit=200), tenant.get("/v1/ops/set-aside")]
    told = json.dumps([{name: value for name, value in a.items() if name != "as_of"} for a in answers])
    return re.sub(r"\d\d:\d\d on \d+ \w+ \d{4}", "", told)


def at_once(commands: dict[str, tuple[Service, str]]) -> dict[str, Done]:
    """What became of these commands, which run beside each other because each takes a while to begin."""
    with ThreadPoolExecutor(3) as pool:
        ended = pool.map(lambda which: which[0].command(*which[1].split()), commands.values())
        return dict(zip(commands, ended, strict=True))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@dataclass
class Lifetime:
    """What a store went through: served, stopped, rebuilt, served again and stopped."""

    folder: Path
    port: int
    url: str
    before: str
    after: str
    version: int
    beside: dict[str, Done]
    stopped: tuple[int, int]
    stats: Json
    taken: Json
    next_version: int
    metrics: str
    log: list[Json]


@pytest.fixture(scope="module")
def lifetime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lifetime]:
    folder, port = tmp_path_factory.mktemp("lifetime"), free_port()
    env = {"BORROWER_MEMORY_LOG_LEVEL": "DEBUG", "BORROWER_MEMORY_PORT": str(port)}
    service = Service(folder, policy=ALWAYS, env=env).start()
    elsewhere = Service(tmp_path_factory.mktemp("elsewhere"), policy=ALWAYS, env=env)
    try:
        url = service.url
        tenant = Tenant(service)
        ids = story(tenant)
        mistakes(tenant)
        version = tenant.get("/v1/borrowers/B-one")["record_version"]
        metrics = httpx.get(f"{service.url}/metrics").text
        beside = at_once(
            {
                "serve": (service, "serve"),
                "rebuild": (service, "rebuild"),
                "serve on the same port": (elsewhere, "serve"),
                "keys create": (service, "keys create --tenant acme --scopes events:agent,read --name asha"),
                "keys revoke nobody": (service, "keys revoke nobody"),
            }
        )
        before = everything_of(tenant, ids)
        first = service.stop()
        beside |= at_once({"rebuild alone": (service, "rebuild"), "keys list": (service, "keys list --tenant acme")})
        service.start()
        again = Tenant(service, key=tenant.key)
        after = everything_of(again, ids)
        one = again.borrower(id_="B-one")
        taken = one.says("whatsapp", promise(4000, day(8)), conversation_id="c-2", revision=2, status=409)
        stats, next_version = again.get("/v1/ops/stats"), one.says()["record_version"]
        stopped = first, service.stop(signal.SIGINT)
        yield Lifetime(
            folder=folder,
            port=port,
            url=url,
            before=before,
            after=after,
            version=version,
            beside=beside,
            stopped=stopped,
            stats=stats,
            taken=taken,
            next_version=next_version,
            metrics=metrics,
            log=log_lines(service),
        )
    finally:
        service.kill()


def test_a_restart_and_a_rebuild_change_no_answer(lifetime: Lifetime) -> None:
    assert lifetime.after == lifetime.before
    rebuilt = lifetime.beside["rebuild alone"]
    assert rebuilt.returncode == 0, rebuilt.stderr
    told = json.loads(rebuilt.stdout)
    assert (told["changed"], told["removed"]) == (0, 0)
    assert (lifetime.taken["code"], lifetime.taken["event_id"]) == ("id_conflict", "whatsapp:c-2:2"), "taken for ever"
    assert lifetime.next_version == lifetime.version + 1
    assert lifetime.stats["conflicts"] == 2


def test_told_to_stop_it_ends_with_zero(lifetime: Lifetime) -> None:
    assert lifetime.stopped == (0, 0)


@pytest.mark.parametrize("command", ["serve", "rebuild"])
def test_beside_a_running_service_no_other_takes_the_store(lifetime: Lifetime, command: str) -> None:
    refused = lifetime.beside[command]
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "in use by process" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_it_listens_where_it_is_told_and_an_address_that_is_taken_is_a_failure(lifetime: Lifetime) -> None:
    assert lifetime.url == f"http://127.0.0.1:{lifetime.port}"
    refused = lifetime.beside["serve on the same port"]
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "failed: " in refused.stderr
    assert "Traceback" not in refused.stderr


def test_the_log_holds_no_number_no_name_and_no_word(lifetime: Lifetime) -> None:
    written = (lifetime.folder / "log").read_text()
    for planted in (PLANTED_NUMBER, *PLANTED_WORDS):
        assert planted not in written, planted
        assert planted not in lifetime.metrics, planted
    assert not [line for line in lifetime.log if line["level"] in ("error", "critical")]
    requests = [line for line in lifetime.log if line["event"] == "request"]
    assert len(requests) > 50
    assert {line["route"] for line in requests} >= {"/v1/borrowers/{borrower_id}", "/v1/resume", "-"}


def test_the_secrets_of_a_store_are_readable_by_its_user_alone(lifetime: Lifetime) -> None:
    (secrets,) = lifetime.folder.glob("*.secret-keys")
    assert os.stat(secrets).st_mode & 0o077 == 0


def test_keys_are_made_and_listed(lifetime: Lifetime) -> None:
    made, listed = lifetime.beside["keys create"], lifetime.beside["keys list"]
    assert (made.returncode, made.stdout.count("\n"), listed.returncode) == (0, 1, 0)
    key = json.loads(made.stdout)
    assert list(key) == ["key", "key_id", "tenant", "scopes", "expires_at"]
    assert key["key"].startswith(f"bm_{key['key_id']}_")
    assert (key["tenant"], key["scopes"], key["expires_at"]) == ("acme", ["read", "events:agent"], None)
    names = {one["key_id"]: one["name"] for one in map(json.loads, listed.stdout.splitlines())}
    assert names[key["key_id"]] == "asha"
    assert key["key"] not in listed.stdout
    assert key["key"].encode() not in (lifetime.folder / "memory.db").read_bytes()


def test_a_key_that_is_not_there_cannot_be_revoked(lifetime: Lifetime) -> None:
    refused = lifetime.beside["keys revoke nobody"]
    assert (refused.returncode, refused.stdout) == (1, "")
