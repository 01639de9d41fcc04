"""Models: one call, behind which an endpoint of OpenAI's form stands, guarded so that its troubles stay its own.

    asking     what a caller sees: messages in, text out, or `ModelFailed` with a reason
    endpoint   the same over HTTP
    guarded    limits around any of them: time, calls at once, calls in an hour, and a rest after failures

What is asked, and whether an answer is any good, is not known here: an answer that is refused was no failure.
"""
