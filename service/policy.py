"""The policy file of API 13: what a lender decides for all its tenants (`[defaults]`) and for one (`[tenant.NAME]`).

A fault in `[defaults]` stops the start, because everybody would run under rules that nobody chose. A fault in a
tenant's table disables that tenant alone and is listed, so that one lender's slip never stops another (DESIGN 9).

This file judges the form of a policy. What an identity, a permit or a quiet chat is, it must not know; numbers are
normalised by whoever compares them.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

import phonenumbers
import pydantic
from babel.numbers import is_currency
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from channels import CHANNELS
from service.settings import PREFIX, SettingsError

Mode = Literal["enabled", "shadow", "disabled"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)

TENANT_FORM: Final = re.compile(r"[a-z0-9-]{1,40}")
DAYS_LIMIT: Final = 36_500
LIST_LIMIT_ITEMS: Final = 100_000
MINUTES_OF_A_DAY: Final = 24 * 60
MODE_SETTING: Final = f"{PREFIX}MODE"


def _wrong(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("policy", "{sentence}", {"sentence": sentence})


# -- kinds of values ---------------------------------------------------------------------------------------------------


def _modes(value: object) -> dict[str, Mode]:
    """One mode for each channel. Whatever is no mode is disabled, and so is a channel that a table leaves out."""
    if not isinstance(value, Mapping):
        return dict.fromkeys(CHANNELS, _mode(value))
    for name in value:
        if name not in CHANNELS:
            raise _wrong(f"names {name}, which is no channel")
    return {channel: _mode(value.get(channel)) for channel in CHANNELS}


def _mode(value: object) -> Mode:
    return next((mode for mode in MODES if mode == value), "disabled")


@cache
def _time_zones() -> frozenset[str]:
    return frozenset(available_timezones())


def _time_zone(name: str) -> str:
    if name not in _time_zones():
        raise _wrong("is no time zone of the IANA list, such as Asia/Kolkata")
    return name


def _region(name: str) -> str:
    if name not in phonenumbers.SUPPORTED_REGIONS:
        raise _wrong("is no region with telephone numbers, such as IN")
    return name


def _currency(name: str) -> str:
    if not is_currency(name):
        raise _wrong("is no currency of ISO 4217, such as INR")
    return name


def _minute(text: str) -> int:
    found = re.fullmatch(r"([01][0-9]|2[0-4]):([0-5][0-9])", text)
    minute = int(found[1]) * 60 + int(found[2]) if found else MINUTES_OF_A_DAY + 1
    if minute > MINUTES_OF_A_DAY:
        raise _wrong('must be two times of day, such as ["08:00", "19:00"]')
    return minute


def _hours(hours: tuple[str, str]) -> tuple[str, str]:
    if _minute(hours[0]) >= _minute(hours[1]):
        raise _wrong("must begin before they end, on the same day")
    return hours


def _text(value: str) -> str:
    if not value.strip():
        raise _wrong("holds a blank entry")
    return value


Text = Annotated[str, Field(strict=True, max_length=128), AfterValidator(_text)]
Days = Annotated[float, Field(strict=True, ge=0, le=DAYS_LIMIT, allow_inf_nan=False)]


class Retention(BaseModel):
    """How many days texts are kept (DESIGN 18)."""

    # Defaults are validated too, so that 30 days are the same rule, and the same version, whether written or not.
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    turns: Days = 90
    hook_bodies: Days = 30
    prose: Days = 400


def _all_enabled() -> Mapping[str, Mode]:
    return MappingProxyType(dict.fromkeys(CHANNELS, "enabled"))


class Policy(BaseModel):
    """The rules of one tenant. Numbers of days, minutes and seconds may have fractions."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, validate_default=True)

    mode: Annotated[Mapping[str, Mode], BeforeValidator(_modes), AfterValidator(MappingProxyType)] = Field(
        default_factory=_all_enabled
    )
    allow: Annotated[frozenset[Text], Field(max_length=LIST_LIMIT_ITEMS)] = frozenset()  # borrower ids; empty: all
    time_zone: Annotated[str, AfterValidator(_time_zone)] = "Asia/Kolkata"
    region: Annotated[str, AfterValidator(_region)] = "IN"
    currency: Annotated[str, AfterValidator(_currency)] = "INR"
    own_numbers: Annotated[tuple[Text, ...], Field(max_length=LIST_LIMIT_ITEMS)] = ()
    identity_days: Days = 30  # 0: no resume finds identity holding
    contact_hours: Annotated[tuple[str, str], AfterValidator(_hours)] = ("08:00", "19:00")
    attempts_in_7_days: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 0  # 0: no limit
    permit_seconds: Annotated[float, Field(strict=True, gt=0, le=7 * 86_400)] = 600
    quiet_minutes: Annotated[float, Field(strict=True, gt=0, le=30 * 1_440)] = 30
    report_missing_minutes: Annotated[float, Field(strict=True, ge=0, le=30 * 1_440)] = 60
    retention: Retention = Retention()

    @property
    def prose_days(self) -> float:
        """How long prose is told in its own words."""
        return self.retention.prose

    def mode_for(self, channel: str, borrower_id: str | None) -> Mode:
        """What is handed out of this borrower's memory on this channel (DESIGN 9).

        The allow list narrows `enabled` only: in shadow nothing is handed out, and what it measures is of use for the
        borrowers who are not on the list yet.
        """
        mode = self.mode.get(channel, "disabled")
        if mode == "enabled" and self.allow and borrower_id not in self.allow:
            return "disabled"
        return mode

    def hands_out(self, borrower_id: str) -> bool:
        """Whether anything of this borrower's memory is handed out, on whichever channel: for reads that name none."""
        return any(self.mode_for(channel, borrower_id) == "enabled" for channel in self.mode)

    @cached_property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    @cached_property
    def contact_minutes(self) -> tuple[int, int]:
        """From (included) and until (not included) which minute of the borrower's day contact is allowed."""
        return _minute(self.contact_hours[0]), _minute(self.contact_hours[1])

    @cached_property
    def version(self) -> str:
        """A hash of every rule above: a derived answer is kept only while it stands (DESIGN 3)."""
        values = self._values()
        values |= {"mode": dict(self.mode), "allow": sorted(self.allow), "retention": self.retention.model_dump()}
        return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:16]

    def with_mode(self, mode: object) -> "Policy":
        """The same rules under another mode; validated anew, so that nothing computed for the old one is kept."""
        return Policy.model_validate(self._values() | {"mode": mode})

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Policy.model_fields}


class _IntakeLog(BaseModel):
    """The one key of `[defaults]` that is no tenant's, because there is one intake topic for all."""

    model_config = ConfigDict(hide_input_in_errors=True)

    log_retention_days: Annotated[float, Field(strict=True, gt=0, le=DAYS_LIMIT)] = 7


@dataclass(frozen=True)
class Policies:
    """`problems` says in a sentence why a tenant, or `[defaults]`, is disabled in whole or in part."""

    defaults: Policy = field(default_factory=Policy)
    tenants: Mapping[str, Policy] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    log_retention_days: float = 7

    def for_tenant(self, tenant: str) -> Policy:
        return self.tenants.get(tenant, self.defaults)

    def problem_of(self, tenant: str) -> str | None:
        """Why this tenant is disabled in whole or in part, if a fault of the file or of the setting makes it so."""
        if "disabled" not in self.for_tenant(tenant).mode.values():
            return None
        return (
            "; ".join(self.problems[owner] for owner in (tenant, DEFAULTS, MODE_SETTING) if owner in self.problems)
            or None
        )


# -- reading -----------------------------------------------------------------------------------------------------------

DEFAULTS: Final = "[defaults]"  # its name among the problems; no tenant can have it


def load(path: Path | None = None, *, mode: str | None = None) -> Policies:
    """The policies of a file; without one the built-in defaults. `mode` is the setting that overrides the file's.

    Raises `SettingsError` for what stops the start. A tenant that was disabled for a fault stays so whatever `mode`.
    """
    file = _read(path) if path else {}
    given, tables = _table(file, "defaults"), _table(file, "tenant")
    if unknown := sorted(file.keys() - {"defaults", "tenant"}):
        raise SettingsError(f"the policy file has [defaults] and [tenant.NAME], but no {', '.join(unknown)}")
    shared = {name: value for name, value in given.items() if name != "log_retention_days"}
    try:
        log = _IntakeLog.model_validate(given)
        defaults = Policy.model_validate(shared)
    except pydantic.ValidationError as error:
        raise SettingsError(f"the policy's {DEFAULTS}: {_sentences(error)}") from None
    problems, tenants, faulty = dict(_doubtful_modes(DEFAULTS, shared)), {}, set()
    for tenant, table in tables.items():
        try:
            tenants[tenant] = _of_tenant(tenant, table, shared)
            problems |= _doubtful_modes(tenant, table)
        except (pydantic.ValidationError, _Fault) as error:
            tenants[tenant] = defaults.with_mode("disabled")
            problems[tenant] = _sentences(error) if isinstance(error, pydantic.ValidationError) else str(error)
            faulty.add(tenant)
    if mode is not None:
        problems |= _doubtful_modes(MODE_SETTING, {"mode": mode})
        defaults = defaults.with_mode(mode)
        tenants = {name: policy if name in faulty else policy.with_mode(mode) for name, policy in tenants.items()}
    return Policies(defaults, tenants, problems, log.log_retention_days)


class _Fault(Exception):
    """A tenant's table that is not even a table of a tenant."""


def _of_tenant(tenant: str, table: object, shared: Mapping[str, Any]) -> Policy:
    """A tenant's own keys before those of `[defaults]`; of `retention` each day by itself."""
    if not TENANT_FORM.fullmatch(tenant):
        raise _Fault("its name must be 1 to 40 small letters, digits and dashes")
    if not isinstance(table, dict):
        raise _Fault("must be a table")
    merged = {**shared, **table}
    if isinstance(own := table.get("retention"), dict):
        merged["retention"] = {**shared.get("retention", {}), **own}
    return Policy.model_validate(merged)


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{PREFIX}POLICY_FILE cannot be read: {error.strerror}") from None
    except ValueError as error:  # not UTF-8, or not TOML; the messages tell the place
        raise SettingsError(f"{PREFIX}POLICY_FILE is not TOML in UTF-8: {error}") from None


def _table(file: Mapping[str, Any], name: str) -> dict[str, Any]:
    table = file.get(name, {})
    if not isinstance(table, dict):
        raise SettingsError(f"{name} of the policy file must be a table")
    return table


def _doubtful_modes(owner: str, table: Mapping[str, Any]) -> Mapping[str, str]:
    """What was written as a mode and is none: it disables, and somebody has to be told."""
    given = table.get("mode", "enabled")
    modes = given.values() if isinstance(given, dict) else [given]
    if all(mode in MODES for mode in modes):
        return {}
    return {owner: "mode is none of enabled, shadow, disabled, so it is disabled"}


def _sentences(error: pydantic.ValidationError) -> str:
    """One for each key, in the file's words. pydantic's messages say what was expected, not what was given."""
    told: dict[str, str] = {}
    for detail in error.errors(include_url=False, include_input=False):
        key = ".".join(str(part) for part in detail["loc"])
        if detail["type"] == "extra_forbidden":
            message = "is no key of a policy"
        else:
            message = (detail.get("ctx") or {}).get("sentence") or detail["msg"].replace("Input should be", "must be")
        told.setdefault(key, f"{key} {message[0].lower()}{message[1:]}")
    return "; ".join(told.values())
