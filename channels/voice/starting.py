"""What the model of an agent reads when it starts in the middle of a conversation: the step before, in our words, tagged.

For frameworks that hold the model's context themselves. The tags are those by which the memory is known again when it comes
back in a transcript (`channels.summarise.fed`). While the narrative may not be spoken it is not told to the model at all: what
a model never saw it cannot say, and an instruction alone is no protection (DESIGN 11). Once identity is verified the agent asks
again.
"""

from __future__ import annotations

import re
from typing import Final

from channels.resumed import Resumed
from channels.summarise.fed import CLOSES, OPENS

_TAG: Final = re.compile(rf"<(/?{re.escape(OPENS[1:-1])})", re.IGNORECASE)
SOURCE: Final = "memory"
"""How an item of a context says that it was seeded; whoever reads the report leaves it out."""


def previous_step(answer: Resumed) -> str:
    """Where this conversation starts, and what was said before as far as it may be spoken."""
    return "\n".join([OPENS, *_lines(answer), CLOSES])


def _lines(answer: Resumed) -> list[str]:
    stamps, variables = answer.stamps, answer.variables
    lines = [
        f"From the lender's memory as of {stamps['as_of']}, version {stamps['record_version']}, {stamps['resume_id']}."
    ]
    if answer.degraded:
        lines.append("The memory could not be read: this says nothing about who the borrower is or what was promised.")
    if answer.state is None:
        lines.append("No state is granted: do not go on; hand over to a person.")
    else:
        lines.append(f"The conversation starts at the state {answer.state}; nothing before it is repeated.")
    if not answer.identity.holds:
        then = f"; then go to {answer.after_identity}" if answer.after_identity else ""
        lines.append(f"Identity does not hold: verify who this is first{then}.")
    else:
        lines.append("Identity holds.")
    if not answer.contact.allowed:
        lines.append(f"Contact is not allowed now ({variables['contact_reason']}): answer, and begin nothing.")
    else:
        lines.append("Contact is allowed.")
    if answer.previous_step is None:
        lines.append("Nothing was said before.")
    elif answer.previous_step.speakable:
        lines.append(f"The promise stands at: {variables['promise_status']}. What was said before may be spoken of:")
        lines.append(_quoted(answer.previous_step.text))
    else:
        lines.append("What was said before is withheld until identity is verified.")
    return lines


def _quoted(text: str) -> str:
    """Words of people that can neither end our tag nor be taken for a placeholder of a framework's templates."""
    return _TAG.sub(r"< \1", " ".join(text.split())).replace("{{", "{ {")
