"""Faults of writers, rows 1 to 8: killed, frozen, blocked, thrown out, doubled. Spans are scaled to a session of 3 s.

After each, everything that was answered is in the journal once, and the records are what the journal says (`checker`).
"""

from __future__ import annotations

import random
import signal
import threading
import time
from pathlib import Path

import pytest

from tests.together import broker, checker
from tests.together.faults.altered import BLOCKED_SECONDS
from tests.together.faults.conftest import SETTLED_SECONDS, TAKEOVER_SECONDS, Field, altered
from tests.together.faults.expel import expel_all
from tests.together.faults.proxy import Sent
from tests.together.fleet import PARTITIONS, SESSION_SECONDS, WriterProcess, fleet
from tests.together.stream import Clients, Ledger, requests

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

KILLS = 2
CUTS = 3
STORM_ROUNDS = 4
IDLE_SECONDS = 5
"""So long a transaction may stand idle (`service/postgres`)."""
LOCK_SECONDS = 4


def _killed(field: Field, commit: Sent) -> None:
    """A writer whose save comes by is killed, some times over."""
    for _ in range(KILLS):
        victim = field.owner()
        trap = field.ways[victim].at_commit(commit, lambda victim=victim: victim.send(signal.SIGKILL))  # type: ignore[misc]
        with field.load(40):
            field.springs(trap)
            assert victim.process is not None
            victim.process.wait(10)
            field.settle()


def test_1_a_writer_killed_before_its_commit_leaves_no_trace_and_its_batch_is_merged_by_the_next(field: Field) -> None:
    _killed(field, "held back")
    field.proved(kills=KILLS)


def test_2_a_writer_killed_after_its_commit_was_sent_has_its_effect_once(field: Field) -> None:
    _killed(field, "sent")
    field.proved(kills=KILLS)


def test_3_a_connection_cut_at_a_commit_makes_the_writer_look_up_whether_it_is_in_and_go_on(field: Field) -> None:
    before = field.logged("commit_was_in")
    with field.load(120):
        for n in range(CUTS * 2):
            field.springs(field.ways[field.owner()].at_commit("sent" if n % 2 else "held back"))
    field.proved(cuts=CUTS * 2, commits_found=field.logged("commit_was_in") - before)
    assert field.logged("commit_was_in") > before
    assert all(writer.running() for writer in field.writers)


def test_4_a_frozen_writer_is_taken_over_and_what_it_does_once_it_wakes_is_refused(field: Field) -> None:
    frozen, other = field.writers
    with field.load(120):
        frozen.send(signal.SIGSTOP)
        took = _takes_all(other)
        time.sleep(SESSION_SECONDS)
        frozen.send(signal.SIGCONT)
    field.proved(takeover=took)
    assert took < TAKEOVER_SECONDS


def test_4_a_writer_frozen_inside_its_transaction_holds_its_rows_no_longer_than_it_may_stand_idle(field: Field) -> None:
    frozen, other = field.writers
    stopped, awake = threading.Event(), threading.Event()

    def freeze() -> None:
        frozen.send(signal.SIGSTOP)
        stopped.set()
        awake.wait(SETTLED_SECONDS)

    with field.load(120):
        field.ways[frozen].at_commit("held back", freeze, cut=False)
        assert stopped.wait(SETTLED_SECONDS)
        began = time.monotonic()
        took = _takes_all(other)
        while _idle(field):
            assert time.monotonic() - began < IDLE_SECONDS + LOCK_SECONDS, "its transaction is still open"
            time.sleep(0.2)
        awake.set()
        frozen.send(signal.SIGCONT)
    field.proved(takeover=took)


def _idle(field: Field) -> bool:
    """Whether a transaction of longer than an instant waits for its client."""
    idle = "state = 'idle in transaction' AND state_change < now() - interval '1 s'"
    return bool(field.fleet.rows(f"SELECT 1 FROM pg_stat_activity WHERE {idle}"))


def _takes_all(writer: WriterProcess) -> float:
    began = time.monotonic()
    while len(writer.partitions()) < PARTITIONS:
        assert time.monotonic() < began + SETTLED_SECONDS, "nobody took over"
        time.sleep(0.05)
    return round(time.monotonic() - began, 2)


def test_5_a_writer_whose_loop_is_blocked_with_a_batch_in_hand_does_no_harm_when_it_goes_on(field: Field) -> None:
    field.writers[-1].stop()
    blocked = field.another("blocking")
    field.settle()
    with field.load(120):
        trap = field.ways[blocked].at_commit("held back", lambda: blocked.send(signal.SIGUSR1), cut=False)
        field.springs(trap)
        other = next(writer for writer in field.writers if writer is not blocked)
        took = _takes_all(other)
        time.sleep(BLOCKED_SECONDS - SESSION_SECONDS)
    field.proved(takeover=took)
    blocked.stop()


def test_6_in_a_storm_of_rebalances_nothing_is_lost_and_each_owner_begins_at_the_stored_position(field: Field) -> None:
    with field.load(200):
        for _ in range(STORM_ROUNDS):
            guest = field.another()
            time.sleep(0.5)
            assert guest.stop() == 0
    taken = field.logged("partition_taken")
    field.proved(rounds=STORM_ROUNDS, taken=taken)
    assert taken >= STORM_ROUNDS * PARTITIONS


def test_7_of_two_owners_of_one_partition_one_wins_each_epoch_and_they_never_interleave(field: Field) -> None:
    lost = field.logged("fence_lost")
    field.another("twin")
    with field.load(120):
        time.sleep(1)
    twin = field.writers[-1]
    tables = field.proved(fenced=field.logged("fence_lost") - lost)
    assert field.logged("fence_lost") > lost
    assert twin.stop() == 0
    assert all(fence["epoch"] > 2 for fence in tables.fences.values())


def test_7_without_the_fence_two_owners_interleave_and_the_checker_says_so(
    tmp_path: Path, brokers: broker.Brokers, dsn: str, prefix: str
) -> None:
    """The control of the test above."""
    with fleet(tmp_path, brokers.bootstrap, dsn, prefix, writers=0) as running:
        for alterations in (["unfenced"], ["unfenced", "twin"]):
            running.write(program=altered(*alterations))
        for writer in running.writers:
            _takes_all(writer)
        ledger = Ledger()
        chance = random.Random(7)
        end = time.monotonic() + SETTLED_SECONDS
        while True:
            stream = requests(60, chance, made=10_000 * int(time.monotonic()))
            clients = Clients(stream, lambda: running.url, running.key(), ledger, 4, 7)
            clients.start()
            clients.join()
            if any(f.startswith("position: the epoch falls") for f in checker.faults(running.tables(), ledger)):
                return
            assert time.monotonic() < end, "the checker sees nothing wrong where nothing holds two owners apart"


def test_8_members_whose_heartbeats_are_answered_unknown_member_give_up_their_partitions_and_join_anew(
    field: Field,
) -> None:
    before = field.logged("kafka_partitions_assigned")
    with field.load(150):
        for _ in range(2):
            assert expel_all(field.brokers.bootstrap, f"{field.fleet.topic}.writers") >= 2
            time.sleep(1.5)
    field.settle()
    field.proved()
    assert field.logged("kafka_partitions_assigned") >= before + 2
    assert all(writer.running() for writer in field.writers)
