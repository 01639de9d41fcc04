"""The table of channels. A new channel is a folder with its flow and its vendors, and one line here."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from channels.channel import Channel
from channels.voice.flow import FLOW as VOICE
from channels.whatsapp.flow import FLOW as WHATSAPP

CHANNELS: Final[Mapping[str, Channel]] = MappingProxyType(
    {
        channel.name: channel
        for channel in (
            Channel("voice", modality="speech", flow=VOICE),
            Channel("whatsapp", modality="text", flow=WHATSAPP),
        )
    }
)
