"""Everything that one turn's prompt may hold, in one place and one order (DESIGN 10, API 10).

bodies       what is posted
blocks       what is answered: blocks and what was left out, and how large a text is
readings     of the readings, which may stay: by the turn in which they were read
turns        of the conversation, what a model may see
standing     what the memory holds whatever the time: facts, the record, reports, current decisions
assembling   the order, the budget and the text
given        what was given, in the order given, for whoever is not handed out yet

Nothing of it is stored. All but `standing`'s reading is pure: the reader's clock is passed in.
"""
