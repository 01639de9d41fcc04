"""How words are compared, and the words of the rules in `grounding` and `screening`, as data.

People here write English, Hindi in Devanagari and Hindi in Latin letters, often all three in one line, and a speech
recogniser writes them without punctuation. The lists below say what counts as a denial, an agreement, a relative and so
on; which conclusion follows is the business of those who read them, as one vocabulary.

This module must not know who said a text, nor what it is evidence for.
"""

# One vocabulary: whoever reads it says `w.NEGATIONS` and need not know in which of the lists that stands.
from statemachine.words.agreement import *  # noqa: F403
from statemachine.words.comparing import *  # noqa: F403
from statemachine.words.denials import *  # noqa: F403
from statemachine.words.facts import *  # noqa: F403
from statemachine.words.live import *  # noqa: F403
from statemachine.words.voices import *  # noqa: F403
