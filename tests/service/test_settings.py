"""The variables of API 13: what each takes, what stops the start, and that no sentence repeats a secret."""

import base64
from collections.abc import Mapping
from pathlib import Path

import pytest

from service import settings
from service.settings import PREFIX, Settings, SettingsError

SECRET = "Zq7Geheim"
KEYS = [base64.urlsafe_b64encode(bytes([number]) * 32).decode() for number in range(20)]
POSTGRES = {"DATABASE_URL": "postgresql://bm:pw@db:5432/memory", "SECRET_KEYS": KEYS[0]}
SASL = {
    "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
    "KAFKA_SASL_MECHANISM": "PLAIN",
    "KAFKA_SASL_USERNAME": "u",
    "KAFKA_SASL_PASSWORD": SECRET,
}


def load(variables: Mapping[str, str] | None = None, directory: Path = Path("/srv")) -> Settings:
    given = {PREFIX + name: text for name, text in (variables or {}).items()}
    return settings.load({"PATH": "/bin", "OTEL_SERVICE_NAME": "x", **given}, directory=directory)


def test_the_defaults_are_the_contract() -> None:
    found = load()
    assert (found.host, found.port, found.metrics_port) == ("127.0.0.1", 8000, 9000)
    assert found.database.sqlite_path == Path("/srv/.borrower-memory/borrower-memory.db")
    assert found.secret_keys_file == Path("/srv/.borrower-memory/borrower-memory.db.secret-keys")
    assert (found.uses_kafka, found.kafka_bootstrap_servers, found.kafka_security_protocol) == (False, (), "PLAINTEXT")
    assert (found.kafka_topic_prefix, found.kafka_partitions) == ("borrower-memory", 12)
    assert (found.kafka_replication, found.kafka_session_seconds) == (None, 30)
    assert (found.secret_keys, found.llm_base_url, found.llm_model, found.llm_api_key) == (None, None, None, None)
    assert (found.policy_file, found.mode, found.log_level) == (None, None, "INFO")


def test_the_variables_are_those_of_the_contract() -> None:
    names = """HOST PORT METRICS_PORT DATABASE_URL KAFKA_BOOTSTRAP_SERVERS KAFKA_SECURITY_PROTOCOL KAFKA_SASL_MECHANISM
    KAFKA_SASL_USERNAME KAFKA_SASL_PASSWORD KAFKA_SSL_CAFILE KAFKA_TOPIC_PREFIX KAFKA_PARTITIONS KAFKA_REPLICATION
    KAFKA_SESSION_SECONDS SECRET_KEYS LLM_BASE_URL LLM_MODEL LLM_API_KEY SOURCE_URL SOURCE_KEY POLICY_FILE MODE
    LOG_LEVEL"""
    assert set(settings.VARIABLES) == {PREFIX + name for name in names.split()}


def test_every_variable_is_read(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").touch()
    (tmp_path / "ca.pem").touch()
    found = load(
        {
            "HOST": "0.0.0.0",
            "PORT": "0",
            "METRICS_PORT": "9100",
            "DATABASE_URL": "sqlite:///data/b.db",
            "KAFKA_BOOTSTRAP_SERVERS": " k1:9092, k2:9092,",
            **SASL,
            "KAFKA_SECURITY_PROTOCOL": "sasl_plaintext",
            "KAFKA_SASL_MECHANISM": "scram-sha-512",
            "KAFKA_SSL_CAFILE": "ca.pem",
            "KAFKA_TOPIC_PREFIX": "bm.test",
            "KAFKA_PARTITIONS": "3",
            "KAFKA_REPLICATION": "1",
            "KAFKA_SESSION_SECONDS": "6",
            "SECRET_KEYS": f"{KEYS[0]}, {KEYS[1].rstrip('=')}",
            "LLM_BASE_URL": "http://127.0.0.1:9/v1/",
            "LLM_MODEL": "m",
            "LLM_API_KEY": SECRET,
            "POLICY_FILE": str(tmp_path / "policy.toml"),
            "MODE": "shadow",
            "LOG_LEVEL": "debug",
        },
        tmp_path,
    )
    assert (found.host, found.port, found.metrics_port) == ("0.0.0.0", 0, 9100)
    assert found.database.sqlite_path == tmp_path / "data" / "b.db"
    assert found.kafka_bootstrap_servers == ("k1:9092", "k2:9092")
    assert (found.kafka_security_protocol, found.kafka_sasl_mechanism) == ("SASL_PLAINTEXT", "SCRAM-SHA-512")
    assert found.kafka_sasl_password is not None
    assert (found.kafka_sasl_username, found.kafka_sasl_password.get_secret_value()) == ("u", SECRET)
    assert (found.kafka_ssl_cafile, found.policy_file) == (tmp_path / "ca.pem", tmp_path / "policy.toml")
    assert (found.kafka_topic_prefix, found.kafka_partitions) == ("bm.test", 3)
    assert (found.kafka_replication, found.kafka_session_seconds) == (1, 6)
    assert found.secret_keys is not None
    assert [key.get_secret_value() for key in found.secret_keys] == [bytes(32), b"\x01" * 32]
    assert found.llm_api_key is not None
    assert (found.llm_base_url, found.llm_model) == ("http://127.0.0.1:9/v1", "m")
    assert (found.mode, found.log_level) == ("shadow", "DEBUG")
    assert SECRET not in repr(found)
    assert KEYS[1] not in repr(found)


def test_a_blank_variable_counts_as_unset() -> None:
    assert load(dict.fromkeys((name.removeprefix(PREFIX) for name in settings.VARIABLES), " ")) == load()


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///b.db", "/srv/b.db"),
        ("sqlite:////data/b.db", "/data/b.db"),
        ("sqlite+aiosqlite:////data/b.db", "/data/b.db"),
        ("sqlite:///./a/../b.db", "/srv/b.db"),
    ],
)
def test_sqlite_urls(url: str, path: str) -> None:
    found = load({"DATABASE_URL": url}).database
    assert (found.is_sqlite, found.sqlite_path, found.postgres_dsn) == (True, Path(path), None)
    assert (found.async_url, found.sync_url) == (f"sqlite+aiosqlite:///{path}", f"sqlite:///{path}")


@pytest.mark.parametrize(
    ("url", "rest", "rest_async"),
    [
        ("postgresql://bm:pw@db:5432/m", "bm:pw@db:5432/m", "bm:pw@db:5432/m"),
        ("postgres://bm:p%40w@db/m", "bm:p%40w@db/m", "bm:p%40w@db/m"),
        ("postgresql+asyncpg://db/m", "db/m", "db/m"),
        ("postgresql:///m?host=/run/pg", "/m?host=%2Frun%2Fpg", "/m?host=%2Frun%2Fpg"),
        ("postgresql://db/m?sslmode=verify-full", "db/m?sslmode=verify-full", "db/m?ssl=verify-full"),
    ],
)
def test_postgres_urls_are_told_with_and_without_a_driver(url: str, rest: str, rest_async: str) -> None:
    found = load({"DATABASE_URL": url, "SECRET_KEYS": KEYS[0]})
    place = found.database
    assert (place.is_sqlite, place.sqlite_path, found.secret_keys_file) == (False, None, None)
    assert place.async_url == f"postgresql+asyncpg://{rest_async}"
    assert place.sync_url == f"postgresql+psycopg://{rest}"
    assert place.postgres_dsn == f"postgresql://{rest}"
    assert "p" + "w@" not in repr(found)


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"NONSENSE": "1"}, "NONSENSE"),
        ({"NONSENSE": ""}, "NONSENSE"),
        ({"port": "1"}, "port"),
        ({"DATABASE": "x"}, "DATABASE"),
        ({"": "x"}, ""),
        ({"PORT": SECRET}, "PORT"),
        ({"PORT": "65536"}, "PORT"),
        ({"METRICS_PORT": "-1"}, "METRICS_PORT"),
        ({"DATABASE_URL": SECRET}, "DATABASE_URL"),
        ({"DATABASE_URL": f"mysql://u:{SECRET}@h/d"}, "DATABASE_URL"),
        ({"DATABASE_URL": f"postgresql://u:{SECRET}@h:port/d"}, "DATABASE_URL"),
        ({"DATABASE_URL": f"postgresql://u:{SECRET}@h", "SECRET_KEYS": KEYS[0]}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite://"}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite:///:memory:"}, "DATABASE_URL"),
        ({"DATABASE_URL": "sqlite:///a.db?mode=ro"}, "DATABASE_URL"),
        ({"DATABASE_URL": f"postgresql://u:{SECRET}@h/d"}, "SECRET_KEYS"),
        ({"SECRET_KEYS": SECRET}, "SECRET_KEYS"),
        ({"SECRET_KEYS": f"{KEYS[0]},{SECRET}"}, "SECRET_KEYS"),
        ({"SECRET_KEYS": f"{KEYS[0]},{KEYS[0]}"}, "SECRET_KEYS"),
        ({"SECRET_KEYS": ","}, "SECRET_KEYS"),
        ({"SECRET_KEYS": ",".join(KEYS)}, "SECRET_KEYS"),
        ({"SECRET_KEYS": KEYS[0].replace("A", "é", 1)}, "SECRET_KEYS"),
        ({"KAFKA_BOOTSTRAP_SERVERS": "k1"}, "KAFKA_BOOTSTRAP_SERVERS"),
        ({"KAFKA_BOOTSTRAP_SERVERS": "k1:9092,k2:0"}, "KAFKA_BOOTSTRAP_SERVERS"),
        ({"KAFKA_SECURITY_PROTOCOL": SECRET}, "KAFKA_SECURITY_PROTOCOL"),
        ({**SASL, "KAFKA_SASL_MECHANISM": "GSSAPI"}, "KAFKA_SASL_MECHANISM"),
        ({**SASL, "KAFKA_SASL_USERNAME": ""}, "KAFKA_SASL_USERNAME"),
        ({**SASL, "KAFKA_SASL_PASSWORD": ""}, "KAFKA_SASL_PASSWORD"),
        ({**SASL, "KAFKA_SECURITY_PROTOCOL": "SSL"}, "KAFKA_SASL_MECHANISM"),
        ({"KAFKA_SASL_PASSWORD": SECRET}, "KAFKA_SASL_PASSWORD"),
        ({"KAFKA_SSL_CAFILE": "none.pem"}, "KAFKA_SSL_CAFILE"),
        ({"KAFKA_TOPIC_PREFIX": "a b"}, "KAFKA_TOPIC_PREFIX"),
        ({"KAFKA_PARTITIONS": "0"}, "KAFKA_PARTITIONS"),
        ({"KAFKA_REPLICATION": "two"}, "KAFKA_REPLICATION"),
        ({"KAFKA_SESSION_SECONDS": "0"}, "KAFKA_SESSION_SECONDS"),
        ({"LLM_BASE_URL": "api.example"}, "LLM_BASE_URL"),
        ({"LLM_BASE_URL": "http://h/v1"}, "LLM_MODEL"),
        ({"LLM_MODEL": "m"}, "LLM_MODEL"),
        ({"LLM_API_KEY": SECRET}, "LLM_API_KEY"),
        ({"SOURCE_KEY": SECRET}, "SOURCE_KEY"),
        ({"POLICY_FILE": "none.toml"}, "POLICY_FILE"),
        ({"LOG_LEVEL": "loud"}, "LOG_LEVEL"),
        ({"HOST": "h" * 501}, "HOST"),
    ],
)
def test_what_does_not_check_stops_the_start_by_name(variables: dict[str, str], named: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(variables)
    assert PREFIX + named in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not any(key in str(caught.value) for key in KEYS)


def test_all_faults_are_told_at_once_and_a_near_name_is_offered() -> None:
    with pytest.raises(SettingsError, match=f"{PREFIX}HOTS .*{PREFIX}HOST meant.*{PREFIX}NONSENSE"):
        load({"NONSENSE": "1", "HOTS": "x"})
    with pytest.raises(SettingsError, match=f"{PREFIX}PORT .*{PREFIX}LOG_LEVEL "):
        load({"PORT": "x", "LOG_LEVEL": "x"})


def test_the_environment_is_the_processes_own_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in settings.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(f"{PREFIX}PORT", "8123")
    monkeypatch.chdir(tmp_path)
    found = settings.load()
    assert found.port == 8123
    assert found.database.sqlite_path == tmp_path.resolve() / settings.DEFAULT_DATABASE


def test_nothing_is_made_by_reading_settings(tmp_path: Path) -> None:
    load(directory=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_settings_do_not_change() -> None:
    found = load(POSTGRES)
    with pytest.raises(ValueError, match="frozen"):
        found.port = 1
