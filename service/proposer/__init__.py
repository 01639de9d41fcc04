"""Models that propose where a conversation starts, never while a caller waits for them (DESIGN 9).

Theory of operation. When a record has changed, a *want* is noted for each channel that hands its memory out: one row a
borrower, channel and loan, in which a newer want takes the place of the older. A proposer takes wants up, asks the model and
stores what it answered, with everything that the answer rests on: the version of the record, of the flow, and the hash of
what is asked. A read takes a stored proposal only if all three are current, and gives it to the floor like anybody's.

    wants are rows          so that they outlive a process and any number of proposers share them; a read that finds no
                            current proposal notes one too, which mends whatever was lost
    the newest first        a slow model never queues behind itself: who changed last is asked about first, what has waited
                            too long is dropped, and what is in hand is bounded
    superseded is dropped   a call about a record that has changed meanwhile is given up, and its answer is stored nowhere
    failures are answers    that the model did not answer is stored too, so that reads can say why

    prompts     what is asked; the briefing as quoted material
    rows        wants and proposals as they are stored
    proposals   what readers and the writer see
    proposer    whoever takes wants up and asks

No model decides anything: what it answers is a proposal, for `statemachine.floor` to judge.
"""
