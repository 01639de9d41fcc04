"""The settings of the service: every `BORROWER_MEMORY_…` variable of API 13, checked once, at start.

`load` reads a mapping of environment variables and answers frozen `Settings`, or raises `SettingsError` with one
sentence that names the variable and never repeats a value. An unknown variable is an error, a blank one counts as
unset. Nothing here opens, creates or connects to anything; what the values are for is not known here.
"""

import base64
import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import urlsplit

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretBytes, SecretStr
from pydantic_core import PydanticCustomError
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

PREFIX: Final = "BORROWER_MEMORY_"
DEFAULT_DATABASE: Final = Path(".borrower-memory") / "borrower-memory.db"
KEY_FILE_SUFFIX: Final = ".secret-keys"
SECRET_KEY_BYTES: Final = 32
SECRET_KEYS_LIMIT: Final = 16
PARTITIONS_LIMIT: Final = 1_000
SESSION_LIMIT_SECONDS: Final = 300
POSTGRES_ASYNC_DRIVER: Final = "asyncpg"
POSTGRES_SYNC_DRIVER: Final = "psycopg"


class SettingsError(Exception):
    """The service cannot start as it is set up. The command ends with exit code 2 and this sentence (API 13)."""


@dataclass(frozen=True)
class Database:
    """Where the records are. The URLs are SQLAlchemy's and hold the password, so they are left out of `repr`."""

    sqlite_path: Path | None  # absolute; None with PostgreSQL
    async_url: str = field(repr=False)
    sync_url: str = field(repr=False)
    postgres_dsn: str | None = field(default=None, repr=False)  # in libpq's form, without a driver's name

    @property
    def is_sqlite(self) -> bool:
        return self.sqlite_path is not None


def _wrong(sentence: str, variable: str = "") -> PydanticCustomError:
    return PydanticCustomError("setting", "{sentence}", {"sentence": sentence, "variable": variable})


# -- kinds of values ---------------------------------------------------------------------------------------------------


def _host_and_port(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 65_536:
        raise _wrong("must be a comma list of host:port")
    return text


def _web_address(text: str) -> str:
    """Without the slash at its end, so that a path can be put behind it."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise _wrong("must be an http:// or https:// address without a query")
    return text.rstrip("/")


def _existing_file(text: str, info: pydantic.ValidationInfo) -> Path:
    path = _directory(info) / text
    if not path.is_file():
        raise _wrong("names a file that is not there")
    return path


def _topic_prefix(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", text):
        raise _wrong("must be 1 to 100 letters, digits, dots, dashes or underscores")
    return text


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def decode_keys(text: str) -> tuple[bytes, ...]:
    """The keys of a comma list of url-safe base64, 32 bytes each (API 13). The `=` at their ends may be left out.

    Raises `ValueError` with a sentence that holds no key.
    """
    keys = []
    for number, word in enumerate(_parts(text), start=1):
        try:
            key = base64.b64decode(word + "=" * (-len(word) % 4), altchars=b"-_", validate=True)
        except ValueError:
            key = b""
        if len(key) != SECRET_KEY_BYTES:
            raise ValueError(f"key {number} is not url-safe base64 of {SECRET_KEY_BYTES} bytes")
        keys.append(key)
    if not 0 < len(keys) <= SECRET_KEYS_LIMIT:
        raise ValueError(f"must hold 1 to {SECRET_KEYS_LIMIT} keys")
    if len(set(keys)) != len(keys):
        raise ValueError("the same key stands there twice")
    return tuple(keys)


def _secret_keys(text: str) -> tuple[bytes, ...]:
    try:
        return decode_keys(text)
    except ValueError as error:
        raise _wrong(str(error)) from None


def _database(text: str, info: pydantic.ValidationInfo) -> Database:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise _wrong("is no URL of the form sqlite:///path or postgresql://user:password@host/name") from None
    kind = url.drivername.partition("+")[0]
    if kind == "sqlite":
        return _sqlite(url, _directory(info))
    if kind in ("postgresql", "postgres"):
        return _postgres(url)
    raise _wrong("must begin with sqlite:/// or postgresql://")


def _sqlite(url: URL, directory: Path) -> Database:
    if not url.database or url.database.startswith((":memory:", "file:")) or url.host or url.query:
        raise _wrong("must name a file, sqlite:///path, without options")
    path = (directory / url.database).resolve()
    plain = URL.create("sqlite", database=str(path))
    return Database(
        sqlite_path=path,
        async_url=plain.set(drivername="sqlite+aiosqlite").render_as_string(hide_password=False),
        sync_url=plain.render_as_string(hide_password=False),
    )


def _postgres(url: URL) -> Database:
    """The async driver takes libpq's `sslmode` under the name `ssl`; certificates reach it through the DSN alone."""
    if not url.database:
        raise _wrong("must name a database, postgresql://user:password@host/name")
    renamed = {("ssl" if name == "sslmode" else name): value for name, value in url.query.items()}
    return Database(
        sqlite_path=None,
        async_url=url.set(drivername=f"postgresql+{POSTGRES_ASYNC_DRIVER}", query=renamed).render_as_string(False),
        sync_url=url.set(drivername=f"postgresql+{POSTGRES_SYNC_DRIVER}").render_as_string(False),
        postgres_dsn=url.set(drivername="postgresql").render_as_string(False),
    )


def _directory(info: pydantic.ValidationInfo) -> Path:
    directory: Path = info.context["directory"] if info.context else Path.cwd()
    return directory


Port = Annotated[int, Field(ge=0, le=65_535)]  # 0: any free one
Words = Annotated[str, Field(max_length=500)]
File = Annotated[Path, BeforeValidator(_existing_file)]
Upper = BeforeValidator(str.upper)


class Settings(BaseModel):
    """All of them, named as their variables without the prefix and in small letters (`database` is DATABASE_URL)."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    host: Words = "127.0.0.1"
    port: Port = 8000
    metrics_port: Port = 9000
    database: Annotated[Database, BeforeValidator(_database), Field(alias="database_url")]
    # No servers: the embedded log.
    kafka_bootstrap_servers: Annotated[
        tuple[Annotated[str, AfterValidator(_host_and_port)], ...], BeforeValidator(_parts)
    ] = ()
    kafka_security_protocol: Annotated[Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"], Upper] = "PLAINTEXT"
    kafka_sasl_mechanism: Annotated[Literal["SCRAM-SHA-256", "SCRAM-SHA-512", "PLAIN"], Upper] | None = None
    kafka_sasl_username: Words | None = None
    kafka_sasl_password: SecretStr | None = None
    kafka_ssl_cafile: File | None = None
    kafka_topic_prefix: Annotated[str, AfterValidator(_topic_prefix)] = "borrower-memory"
    kafka_partitions: Annotated[int, Field(ge=1, le=PARTITIONS_LIMIT)] = 12
    kafka_replication: Annotated[int, Field(ge=1, le=99)] | None = None  # None: the smaller of 3 and the brokers
    kafka_session_seconds: Annotated[int, Field(ge=1, le=SESSION_LIMIT_SECONDS)] = 30
    # First encrypts, all decrypt, last makes keyed hashes. None: the file beside SQLite.
    secret_keys: Annotated[tuple[SecretBytes, ...], BeforeValidator(_secret_keys)] | None = None
    llm_base_url: Annotated[str, AfterValidator(_web_address)] | None = None
    llm_model: Words | None = None
    llm_api_key: SecretStr | None = None
    source_url: Annotated[str, AfterValidator(_web_address)] | None = None  # None: versions are reported, never asked
    source_key: SecretStr | None = None
    policy_file: File | None = None
    mode: Words | None = None  # overrides the policy's; anything unknown is disabled
    log_level: Annotated[Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], Upper] = "INFO"

    @pydantic.model_validator(mode="after")
    def _agree(self) -> Self:
        """What only makes sense together; half of it would be ignored without a word."""
        sasl = self.kafka_security_protocol.startswith("SASL_")
        for name in ("kafka_sasl_mechanism", "kafka_sasl_username", "kafka_sasl_password"):
            if sasl and getattr(self, name) is None:
                raise _wrong(f"is needed with KAFKA_SECURITY_PROTOCOL={self.kafka_security_protocol}", name)
            if not sasl and getattr(self, name) is not None:
                raise _wrong("needs KAFKA_SECURITY_PROTOCOL to be SASL_PLAINTEXT or SASL_SSL", name)
        if self.llm_base_url is not None and self.llm_model is None:
            raise _wrong("is needed with LLM_BASE_URL", "llm_model")
        for name in ("llm_model", "llm_api_key"):
            if self.llm_base_url is None and getattr(self, name) is not None:
                raise _wrong("needs LLM_BASE_URL", name)
        if self.source_url is None and self.source_key is not None:
            raise _wrong("needs SOURCE_URL", "source_key")
        if self.secret_keys is None and not self.database.is_sqlite:
            raise _wrong("is needed with PostgreSQL", "secret_keys")
        return self

    @property
    def secret_keys_file(self) -> Path | None:
        """Where an embedded service keeps its keys when no variable gives them; None with PostgreSQL."""
        path = self.database.sqlite_path
        return path and path.with_name(path.name + KEY_FILE_SUFFIX)

    @property
    def model(self) -> str | None:
        """The name of the model there is; None when there is none."""
        return self.llm_model if self.llm_base_url is not None else None

    @property
    def uses_kafka(self) -> bool:
        return bool(self.kafka_bootstrap_servers)


VARIABLES: Final[Mapping[str, str]] = {
    PREFIX + (info.alias or name).upper(): info.alias or name for name, info in Settings.model_fields.items()
}


def load(environment: Mapping[str, str] | None = None, *, directory: Path | None = None) -> Settings:
    """The settings of an environment (this process's); relative paths lie beneath `directory` (the current one).

    Raises `SettingsError`.
    """
    environment = os.environ if environment is None else environment
    ours = {name: text.strip() for name, text in environment.items() if name.startswith(PREFIX)}
    if unknown := sorted(ours.keys() - VARIABLES.keys()):
        raise SettingsError("; ".join(_unknown(variable) for variable in unknown))
    given = {"database_url": f"sqlite:///{DEFAULT_DATABASE}"}
    given |= {VARIABLES[variable]: text for variable, text in ours.items() if text}
    try:
        return Settings.model_validate(given, context={"directory": (directory or Path.cwd()).absolute()})
    except pydantic.ValidationError as error:
        raise SettingsError("; ".join(_sentences(error))) from None


def _unknown(variable: str) -> str:
    near = difflib.get_close_matches(variable, VARIABLES, n=1)
    return f"unknown setting {variable}" + (f" (is {near[0]} meant?)" if near else "")


def _sentences(error: pydantic.ValidationError) -> Iterable[str]:
    """One for each variable. pydantic's messages tell what was expected and, for these kinds, never what was given."""
    told: dict[str, str] = {}
    for detail in error.errors(include_url=False, include_input=False):
        context: dict[str, Any] = detail.get("ctx") or {}
        variable = PREFIX + (context.get("variable") or str(detail["loc"][0])).upper()
        message = context.get("sentence") or detail["msg"].replace("Input should be", "must be")
        told.setdefault(variable, f"{variable} {message[0].lower()}{message[1:]}")
    return told.values()
