"""Decisions: kept with the version they rest on, checked before they are used, corrected everywhere (DESIGN 12).

bodies       what is posted
rows         how they are stored, and each change as one conditional statement
changes      what one transaction does: taken, reported, gone stale, replaced
decisions    the three calls, and the reader of sources they may have to ask
current      what may be told now: the one filter of every read
merging      what a writer's transaction adds when it merges that a decision has changed
corrections  until every layer has answered: the one who keeps at it
claims       decisions that summaries pass on
"""
