"""Forgetting: one fact, a term, or everything of one borrower, gone from wherever words of it lie (DESIGN 11).

    words     which words forgetting a fact or a term means
    entries   an entry of the journal or the log without forgotten words, still lifting to the same elements
    covered   every place beside the record and the journal where words lie, and how each is cleaned
    applying  what a writer's transaction does when it merges a tombstone, or evidence that one speaks of
    asking    a request, and its receipt

A request is an entry (`memory.forgotten`) without a word. Where the words go, they go in the transaction that merges it; what
arrives later and is older is cleaned when it is merged. Places that no writer sees are gone through again by the retention job.
"""
