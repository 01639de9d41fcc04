"""The service's clock. The core has none: whoever asks it something says when."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
