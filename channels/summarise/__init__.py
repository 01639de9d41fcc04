"""How a conversation becomes a summary: what a model may see of it, what of its answer is taken, and what is told without one.

    fed      memory that was handed into the conversation and comes back in it is taken out
    shown    what is true only when it is read is replaced by a placeholder, before any model sees it
    plain    the summary by rules alone: what was promised, claimed and asked for, in the borrower's own words
    judged   the rules that a model's answer must keep, each with the sentence that names it

All of it is pure: no model is called here, nothing is stored, and no clock is read (DESIGN 11).
"""
