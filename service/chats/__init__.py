"""Chats that go on: built from messages, summarised when they fall quiet, end, or are asked for (DESIGN 10, 11).

`rows`: a chat and its lines, what is open and what waits. `claims`: who may summarise a chat. `chats`: taking messages in, naming
what is open, asking for a summary. `sweeper`: claims what is due, has it summarised, posts it as a revision. `summary`: that
revision. `revising`: what it tells anew, and what an earlier one told already. `withdrawn`: what of a promise stands without its
words.
"""
