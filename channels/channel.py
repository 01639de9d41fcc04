"""What a channel is to the rest: a name, the modality it usually has, and its agent's flow.

It knows no vendor; the modules beside each channel's flow turn vendors' words into entries.
"""

from dataclasses import dataclass
from typing import Literal

from statemachine.flow import Flow

Modality = Literal["speech", "text"]


@dataclass(frozen=True, slots=True)
class Channel:
    """`modality` is that of a conversation which does not say its own; ceilings follow the modality (DESIGN 4)."""

    name: str
    modality: Modality
    flow: Flow

    def __post_init__(self) -> None:
        if self.flow.channel != self.name:
            raise ValueError(f"channel {self.name!r} was given the flow of {self.flow.channel!r}")
