"""The words themselves: numbers, money, days and verbs as borrowers spell them. Data only.

English, Hindi in Latin letters and Hindi in Devanagari. It must not know any grammar: which word may stand beside which
is said in `grammar`, and what a phrase means on a given day in `days`.

How a spelling is written is said in `spelling`. The lists are one vocabulary: whoever reads it says `words.TODAY`.
"""

from channels.said.words.asides import *  # noqa: F403
from channels.said.words.money import *  # noqa: F403
from channels.said.words.numbers import *  # noqa: F403
from channels.said.words.spelling import *  # noqa: F403
from channels.said.words.times import *  # noqa: F403
from channels.said.words.verbs import *  # noqa: F403
