"""What each voice platform is given to start a call in the middle: the answer of a resume in the platform's own form.

    pipecat      the node of a flow, its first task message, and the flow's state
    livekit      the agent by its name, a chat context that knows itself again, and the session's user data
    vapi         `assistantOverrides.variableValues` and `metadata`, with `assistantId` where states have assistants
    retell       `retell_llm_dynamic_variables` and `metadata` of a call that is made
    elevenlabs   `conversation_initiation_client_data`, with the node of a workflow where states have nodes

The same is in all of them: the state, the gate of identity, whether they may be contacted, whether the narrative may be
spoken, the promise's rung, and the stamps (resume, record's version, time). Platforms with templates get the variables, each
of them always; frameworks whose model reads a context get a text of ours (`channels.voice.starting`) as well.

Pure: the answer in, a document out. What a call costs, who places it, and where the answer came from is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from channels.resumed import Resumed, read
from channels.voice.vendors import elevenlabs, livekit, pipecat, retell, vapi

NOWHERE: Final = "none"
"""What `vars` calls the state of an answer that grants none: a person takes over."""

Projection = Callable[[Resumed, str | None], dict[str, Any]]
"""Given the answer, and the platform's own id of what serves its state."""

PROJECTIONS: Final[Mapping[str, Projection]] = MappingProxyType(
    {
        pipecat.NAME: pipecat.started_at,
        livekit.NAME: livekit.started_at,
        vapi.NAME: vapi.started_at,
        retell.NAME: retell.started_at,
        elevenlabs.NAME: elevenlabs.started_at,
    }
)


class NoPlace(LookupError):
    """The platform has nothing that serves the granted state; its sentence names the state."""


def project(
    resume: Mapping[str, Any] | Resumed, vendor: str, places: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The answer of a resume as `vendor` takes it. `places`: the platform's own node, assistant or agent for each state, and
    for `none`, that is nowhere; without it the platform branches on the variable `state` itself.

    Raises `IncompleteAnswer` for an answer that lost a field on its way, `NoPlace` for a state that `places` lacks, and
    `KeyError` for a vendor that starts no calls.
    """
    answer = resume if isinstance(resume, Resumed) else read(resume)
    state = answer.state or NOWHERE
    if places is not None and state not in places:
        raise NoPlace(f"nothing is named that serves the state {state!r}")
    return PROJECTIONS[vendor](answer, places[state] if places is not None else None)
