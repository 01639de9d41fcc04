"""The table of vendors: who posts to us, on which channel, signed how. A new one is a module and one line here, or a mapping."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from channels.delivery import Vendor
from channels.mappings import shipped
from channels.voice.vendors import bland, elevenlabs, exotel, livekit, pipecat, retell, vapi
from channels.voice.vendors import twilio as twilio_voice
from channels.whatsapp.vendors import gupshup, meta
from channels.whatsapp.vendors import twilio as twilio_whatsapp

MODULES: Final = (
    vapi, retell, elevenlabs, bland, livekit, pipecat, twilio_voice, exotel, meta, gupshup, twilio_whatsapp,
)  # fmt: skip

VENDORS: Final[Mapping[tuple[str, str], Vendor]] = MappingProxyType(
    {(vendor.channel, vendor.name): vendor for vendor in (*(module.VENDOR for module in MODULES), *shipped())}
)
"""By channel and name."""
