"""The policy file of API 13: its defaults, what stops the start, what disables one tenant, and who is handed what."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels import CHANNELS
from service.policy import DEFAULTS, MODES, Policies, Policy, load
from service.settings import SettingsError

FILE_OF_THE_CONTRACT = """
[defaults]
mode = "enabled"
allow = []
time_zone = "Asia/Kolkata"
region = "IN"
currency = "INR"
own_numbers = []
identity_days = 30
contact_hours = ["08:00", "19:00"]
attempts_in_7_days = 0
log_retention_days = 7
permit_seconds = 600
quiet_minutes = 30
report_missing_minutes = 60
retention = { turns = 90, hook_bodies = 30, prose = 400 }
"""


@pytest.fixture
def read(tmp_path: Path):
    def _read(text: str | bytes, mode: str | None = None) -> Policies:
        file = tmp_path / "policy.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load(file, mode=mode)

    return _read


def all_channels(mode: str) -> dict[str, str]:
    return dict.fromkeys(CHANNELS, mode)


def test_the_built_in_policy_is_the_file_of_the_contract(read) -> None:
    assert read(FILE_OF_THE_CONTRACT) == load() == Policies()
    assert read(FILE_OF_THE_CONTRACT).for_tenant("acme").version == Policy().version
    assert load().for_tenant("anybody").mode == all_channels("enabled")


def test_a_tenant_repeats_what_it_wants_otherwise(read) -> None:
    found = read(
        FILE_OF_THE_CONTRACT.replace("identity_days = 30", "identity_days = 7").replace("turns = 90", "turns = 5")
        + '[tenant.acme]\ncurrency = "BRL"\ntime_zone = "America/Sao_Paulo"\nregion = "BR"\n'
        + 'own_numbers = ["+919000000001"]\nretention = { prose = 10 }\n[tenant.other]\n'
    )
    acme = found.for_tenant("acme")
    assert (acme.currency, acme.region, acme.zone.key) == ("BRL", "BR", "America/Sao_Paulo")
    assert (acme.own_numbers, acme.identity_days) == (("+919000000001",), 7)
    assert (acme.retention.turns, acme.retention.hook_bodies, acme.retention.prose) == (5, 30, 10)
    assert found.for_tenant("other") == found.for_tenant("nobody") == found.defaults
    assert found.problems == {}


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ('colour = "red"', "colour"),
        ("retention = { turnz = 3 }", "retention.turnz"),
        ("retention = { turns = -1 }", "retention.turns"),
        ("retention = 3", "retention"),
        ("identity_days = -1", "identity_days"),
        ("identity_days = true", "identity_days"),
        ('identity_days = "30"', "identity_days"),
        ("identity_days = 99999999", "identity_days"),
        ("identity_days = nan", "identity_days"),
        ("permit_seconds = 0", "permit_seconds"),
        ("quiet_minutes = 0", "quiet_minutes"),
        ("quiet_minutes = inf", "quiet_minutes"),
        ("report_missing_minutes = -1", "report_missing_minutes"),
        ("attempts_in_7_days = 0.5", "attempts_in_7_days"),
        ("attempts_in_7_days = -1", "attempts_in_7_days"),
        ("log_retention_days = 0", "log_retention_days"),
        ('time_zone = "Mars/Olympus"', "time_zone"),
        ('time_zone = "../../etc/passwd"', "time_zone"),
        ('time_zone = "Asia"', "time_zone"),
        ("time_zone = 5.5", "time_zone"),
        ('region = "in"', "region"),
        ('region = "XX"', "region"),
        ('currency = "Rs"', "currency"),
        ('currency = "inr"', "currency"),
        ("own_numbers = [919000000001]", "own_numbers.0"),
        ('own_numbers = "919000000001"', "own_numbers"),
        ('allow = ["B-1", " "]', "allow"),
        ('allow = "B-1"', "allow"),
        ('contact_hours = ["08:00"]', "contact_hours"),
        ('contact_hours = ["08:00", "12:00", "19:00"]', "contact_hours"),
        ('contact_hours = ["8:00", "19:00"]', "contact_hours"),
        ('contact_hours = ["08:00", "24:01"]', "contact_hours"),
        ('contact_hours = ["08:60", "19:00"]', "contact_hours"),
        ('contact_hours = ["19:00", "08:00"]', "contact_hours"),
        ('contact_hours = ["08:00", "08:00"]', "contact_hours"),
        ("contact_hours = [8, 19]", "contact_hours"),
        ('mode = { fax = "enabled" }', "fax"),
    ],
)
def test_a_fault_in_defaults_stops_the_start_and_in_a_tenant_disables_that_tenant(read, line: str, named: str) -> None:
    with pytest.raises(SettingsError) as caught:
        read(f"[defaults]\n{line}\n")
    assert named in str(caught.value)
    found = read(f"[tenant.acme]\n{line}\n[tenant.fine]\nidentity_days = 3\n")
    assert found.for_tenant("acme").mode == all_channels("disabled")
    assert found.for_tenant("fine").mode == all_channels("enabled")
    assert list(found.problems) == ["acme"]
    assert named in found.problems["acme"]
    assert read(f"[tenant.acme]\n{line}\n", mode="enabled").for_tenant("acme").mode == all_channels("disabled")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[default]\n", "default"),
        ("identity_days = 3\n", "identity_days"),
        ("defaults = 3\n", "defaults"),
        ("tenant = 3\n", "tenant"),
        ("[defaults\n", "POLICY_FILE"),
        ("[defaults]\nmode = \n", "POLICY_FILE"),
        ("[defaults]\nmode = 'a'\nmode = 'b'\n", "POLICY_FILE"),
        (b"[defaults]\nregion = '\xff'\n", "POLICY_FILE"),
    ],
)
def test_a_file_that_is_no_policy_stops_the_start(read, text: str | bytes, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        read(text)


def test_a_file_that_cannot_be_read_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="POLICY_FILE"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text", ["[tenant]\nacme = 3\n", '[tenant."Not A Tenant"]\n', "[tenant.acme]\nlog_retention_days = 3\n"]
)
def test_a_table_that_is_no_tenants_is_listed(read, text: str) -> None:
    found = read(text)
    assert len(found.problems) == 1
    assert all(found.for_tenant(tenant).mode == all_channels("disabled") for tenant in found.problems)


def test_a_disabled_tenant_keeps_the_other_rules_of_all(read) -> None:
    found = read("[defaults]\nidentity_days = 7\n[tenant.acme]\nidentity_days = -1\n")
    assert found.for_tenant("acme").identity_days == 7


@pytest.mark.parametrize(
    ("written", "voice", "whatsapp", "doubtful"),
    [
        ('"enabled"', "enabled", "enabled", False),
        ('"shadow"', "shadow", "shadow", False),
        ('"disabled"', "disabled", "disabled", False),
        ('"Enabled"', "disabled", "disabled", True),
        ('"on"', "disabled", "disabled", True),
        ('""', "disabled", "disabled", True),
        ("true", "disabled", "disabled", True),
        ("[]", "disabled", "disabled", True),
        ('{ voice = "shadow", whatsapp = "enabled" }', "shadow", "enabled", False),
        ('{ voice = "bogus", whatsapp = "enabled" }', "disabled", "enabled", True),
        ('{ voice = "enabled" }', "enabled", "disabled", False),
        ("{ }", "disabled", "disabled", False),
    ],
)
def test_modes(read, written: str, voice: str, whatsapp: str, doubtful: bool) -> None:
    for head, tenant, owner in (("[defaults]", "anybody", DEFAULTS), ("[tenant.acme]", "acme", "acme")):
        found = read(f"{head}\nmode = {written}\n")
        assert found.for_tenant(tenant).mode == {"voice": voice, "whatsapp": whatsapp}
        assert set(found.problems) == ({owner} if doubtful else set())
        assert (found.problem_of(tenant) is not None) == doubtful


def test_the_setting_overrides_every_mode_of_the_file(read) -> None:
    text = '[defaults]\nmode = "disabled"\n[tenant.acme]\nmode = { voice = "enabled" }\nidentity_days = 3\n'
    found = read(text, mode="shadow")
    assert found.for_tenant("acme").mode == found.for_tenant("x").mode == all_channels("shadow")
    assert found.for_tenant("acme").identity_days == 3
    assert found.problems == {}
    unknown = read(text, mode="on")
    assert unknown.for_tenant("acme").mode == all_channels("disabled")
    assert list(unknown.problems) == ["BORROWER_MEMORY_MODE"]
    assert unknown.problem_of("acme") == unknown.problem_of("x") == unknown.problems["BORROWER_MEMORY_MODE"]
    assert load(mode="shadow").for_tenant("x").mode == all_channels("shadow")


@pytest.mark.parametrize(
    ("mode", "allow", "borrower", "answer"),
    [
        ("enabled", [], "B-1", "enabled"),
        ("enabled", [], None, "enabled"),
        ("enabled", ["B-1"], "B-1", "enabled"),
        ("enabled", ["B-1"], "B-2", "disabled"),
        ("enabled", ["B-1"], None, "disabled"),
        ("shadow", ["B-1"], "B-1", "shadow"),
        ("shadow", ["B-1"], "B-2", "shadow"),
        ("shadow", ["B-1"], None, "shadow"),
        ("disabled", ["B-1"], "B-1", "disabled"),
    ],
)
def test_who_is_handed_what(mode: str, allow: list[str], borrower: str | None, answer: str) -> None:
    policy = Policy.model_validate({"mode": mode, "allow": allow})
    assert policy.mode_for("voice", borrower) == answer
    assert policy.mode_for("fax", borrower) == "disabled"


@pytest.mark.parametrize(
    ("hours", "minutes"),
    [
        (["08:00", "19:00"], (480, 1_140)),
        (["00:00", "24:00"], (0, 1_440)),
        (["00:00", "23:59"], (0, 1_439)),
        (["23:58", "24:00"], (1_438, 1_440)),
    ],
)
def test_contact_hours_in_minutes_of_the_day(hours: list[str], minutes: tuple[int, int]) -> None:
    assert Policy.model_validate({"contact_hours": hours}).contact_minutes == minutes


def test_limits_may_be_zero_where_zero_has_a_meaning_and_have_fractions() -> None:
    policy = Policy.model_validate(
        {
            "identity_days": 0,
            "report_missing_minutes": 0,
            "quiet_minutes": 0.05,
            "permit_seconds": 0.5,
            "retention": {"turns": 0},
        }
    )
    assert (policy.identity_days, policy.report_missing_minutes, policy.retention.turns) == (0, 0, 0)
    assert (policy.quiet_minutes, policy.permit_seconds) == (0.05, 0.5)


OTHER = {
    "mode": "shadow",
    "allow": ["B-1"],
    "time_zone": "UTC",
    "region": "BR",
    "currency": "BRL",
    "own_numbers": ["+919000000001"],
    "identity_days": 1,
    "contact_hours": ["00:00", "24:00"],
    "attempts_in_7_days": 1,
    "permit_seconds": 1,
    "quiet_minutes": 1,
    "report_missing_minutes": 1,
    "retention": {"turns": 1},
}


def test_the_version_changes_with_every_rule_and_with_nothing_else() -> None:
    assert set(OTHER) == set(Policy.model_fields)
    versions = {Policy.model_validate({name: value}).version for name, value in OTHER.items()}
    assert len(versions | {Policy().version}) == len(OTHER) + 1
    assert Policy.model_validate({"allow": ["a", "b"]}).version == Policy.model_validate({"allow": ["b", "a"]}).version
    assert Policy.model_validate({"identity_days": 30}).version == Policy().version


def test_another_mode_is_another_version_even_when_the_first_was_asked_for() -> None:
    policy = Policy()
    assert policy.version != policy.with_mode("shadow").version
    assert policy.with_mode("shadow").with_mode("enabled").version == policy.version


def test_a_policy_does_not_change() -> None:
    policy = Policy()
    with pytest.raises(ValueError, match="frozen"):
        policy.identity_days = 1
    with pytest.raises(TypeError):
        policy.mode["voice"] = "disabled"


@given(st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=3)))
def test_nothing_but_the_word_enables(value: object) -> None:
    mode = Policy.model_validate({"mode": value}).mode_for("voice", "B-1")
    assert mode == (value if value in MODES else "disabled")
